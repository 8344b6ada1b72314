package dispatch

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The form of secrets and signatures is that of Standard Webhooks, https://www.standardwebhooks.com.
const (
	secretPrefix    = "whsec_"
	signaturePrefix = "v1,"
	secretBytes     = 32
	// The bounds of a key's length in Standard Webhooks.
	minSecretBytes, maxSecretBytes = 24, 64
)

// Secret is the key that an endpoint's owner and the service share: whsec_ and base64.
type Secret string

// ErrSecret is the error for a text that is no secret.
var ErrSecret = errors.New("not a webhook secret")

// NewSecret returns a random secret.
func NewSecret() Secret {
	key := make([]byte, secretBytes)
	_, _ = rand.Read(key) // it never fails: without randomness the program ends
	return Secret(secretPrefix + base64.StdEncoding.EncodeToString(key))
}

// LogValue keeps secrets out of logs.
func (Secret) LogValue() string { return "secret" }

// key returns the bytes that sign, or ErrSecret.
func (s Secret) key() ([]byte, error) {
	text, found := strings.CutPrefix(string(s), secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	switch {
	case !found:
		return nil, fmt.Errorf("%w: it does not begin with %s", ErrSecret, secretPrefix)
	case err != nil:
		return nil, fmt.Errorf("%w: behind %s is no base64", ErrSecret, secretPrefix)
	case len(key) < minSecretBytes || len(key) > maxSecretBytes:
		return nil, fmt.Errorf("%w: it has %d bytes (allowed: %d to %d)",
			ErrSecret, len(key), minSecretBytes, maxSecretBytes)
	}
	return key, nil
}

// Sign returns the header webhook-signature of a message: a signature with each of the secrets, separated by spaces.
func Sign(secrets []Secret, id string, at time.Time, body []byte) (string, error) {
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		key, err := s.key()
		if err != nil {
			return "", err
		}
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + ".")) // a hash never fails
		_, _ = mac.Write(body)
		signatures[i] = signaturePrefix + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " "), nil
}

// rand16 returns sixteen random characters.
func rand16() string {
	const bytes = 8
	var b [bytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

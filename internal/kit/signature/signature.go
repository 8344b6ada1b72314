// Package signature signs messages, and checks signatures, as Standard Webhooks describes it
// (https://www.standardwebhooks.com). Secrets are whsec_ and base64.
package signature

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed message.
const (
	IDHeader        = "Webhook-Id"
	TimeHeader      = "Webhook-Timestamp"
	SignatureHeader = "Webhook-Signature"
)

const (
	secretPrefix    = "whsec_"
	signaturePrefix = "v1,"
	newSecretBytes  = 32
	// The bounds of a key's length in Standard Webhooks.
	minSecretBytes, maxSecretBytes = 24, 64
	// maxSignatures is how many signatures of a message are looked at: senders sign with two secrets at most.
	maxSignatures = 8
	// maxTime is in the year 2286. Milliseconds are more.
	maxTime = 9_999_999_999
	// maxID is the longest id of a message that is taken.
	maxID = 256
)

// ErrSecret is the error for a text that is no secret.
var ErrSecret = errors.New("not a webhook secret")

// NewSecret returns a random secret.
func NewSecret() string {
	key := make([]byte, newSecretBytes)
	_, _ = rand.Read(key) // it never fails: without randomness the program ends
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// Key returns the bytes with which a secret signs, or ErrSecret.
func Key(secret string) ([]byte, error) {
	text, found := strings.CutPrefix(secret, secretPrefix)
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

// Sign returns the header webhook-signature of a message: a signature with each of the keys, separated by spaces.
func Sign(keys [][]byte, id string, at time.Time, body []byte) string {
	signatures := make([]string, len(keys))
	for i, key := range keys {
		signatures[i] = signaturePrefix + base64.StdEncoding.EncodeToString(
			sum(key, id, strconv.FormatInt(at.Unix(), 10), body))
	}
	return strings.Join(signatures, " ")
}

func sum(key []byte, id, at string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(id + "." + at + ".")) // a hash never fails
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// Header is the signed header of a message that has come in.
type Header struct {
	ID         string
	At         time.Time
	at         string // as it was sent, which is what was signed
	signatures [][]byte
}

// ErrHeader is the error for headers that no sender of Standard Webhooks sends.
var ErrHeader = errors.New("not signed as Standard Webhooks says")

// Read returns the signed header of a message, or ErrHeader, wrapped. The caller judges the time, and checks the body.
func Read(h http.Header) (Header, error) {
	read := Header{ID: h.Get(IDHeader), at: h.Get(TimeHeader)}
	seconds, err := strconv.ParseInt(read.at, 10, 64)
	switch {
	case read.ID == "" || len(read.ID) > maxID:
		return Header{}, fmt.Errorf("%w: %s is missing, or too long", ErrHeader, strings.ToLower(IDHeader))
	case err != nil, seconds < 0, seconds > maxTime:
		return Header{}, fmt.Errorf("%w: %s is %.20q, not seconds since 1970", ErrHeader,
			strings.ToLower(TimeHeader), read.at)
	}
	read.At = time.Unix(seconds, 0)
	for text := range strings.FieldsSeq(h.Get(SignatureHeader)) {
		mac, is := strings.CutPrefix(text, signaturePrefix)
		sum, err := base64.StdEncoding.DecodeString(mac)
		if is && err == nil && len(read.signatures) < maxSignatures {
			read.signatures = append(read.signatures, sum)
		}
	}
	if len(read.signatures) == 0 {
		return Header{}, fmt.Errorf("%w: %s has no signature v1", ErrHeader, strings.ToLower(SignatureHeader))
	}
	return read, nil
}

// Signs reports whether one of the keys has signed the body with this header.
func (h Header) Signs(keys [][]byte, body []byte) bool {
	for _, key := range keys {
		want := sum(key, h.ID, h.at, body)
		for _, has := range h.signatures {
			if hmac.Equal(want, has) {
				return true
			}
		}
	}
	return false
}

package sandbox

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// key signs one kind of text.
type key []byte

// newKey derives the key for one purpose, so that a signature for one is invalid for the other.
func newKey(secret []byte, purpose string) (key, error) {
	if len(secret) < MinSecret {
		return nil, ErrWeakSecret
	}
	return key(secret).sign([]byte("seckill sandbox " + purpose)), nil
}

// sign returns the HMAC-SHA-256 (RFC 2104) of the text.
func (k key) sign(text []byte) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write(text) // never fails
	return mac.Sum(nil)
}

// verify compares in constant time.
func (k key) verify(text, signature []byte) bool { return hmac.Equal(k.sign(text), signature) }

// ticket is the data of a payment in its address.
type ticket struct {
	PaymentID string `json:"p"`
	OrderID   int64  `json:"o"`
	Amount    int64  `json:"a"` // cents
}

// errTicket: an address that this provider did not make.
var errTicket = errors.New("sandbox: not an address of this provider")

// maxTicket is the length of the longest address that is read.
const maxTicket = 1024

// seal writes a ticket as text that fits into a path and cannot be altered.
func (k key) seal(t ticket) (string, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return encode(text) + "." + encode(k.sign(text)), nil
}

// open reads what seal wrote, or returns errTicket.
func (k key) open(s string) (ticket, error) {
	payload, mac, _ := strings.Cut(s, ".")
	text, errText := base64.RawURLEncoding.DecodeString(payload)
	signature, errMAC := base64.RawURLEncoding.DecodeString(mac)
	if len(s) > maxTicket || errText != nil || errMAC != nil || !k.verify(text, signature) {
		return ticket{}, errTicket
	}
	var t ticket
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return ticket{}, errTicket
	}
	return t, nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

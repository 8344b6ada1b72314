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

// newKey derives the key for one purpose, so that a signature for one purpose is invalid for another.
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

// ticket is a payment's data, as contained in its address.
type ticket struct {
	PaymentID string `json:"p"`
	OrderID   int64  `json:"o"`
	Amount    int64  `json:"a"` // in the currency's least unit
}

// errTicket: the address was not made by this provider.
var errTicket = errors.New("sandbox: not an address of this provider")

// maxTicket is the length of the longest ticket that is read.
const maxTicket = 1024

// seal encodes and signs a ticket as text that fits into a path.
func (k key) seal(t ticket) (string, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return encode(text) + "." + encode(k.sign(text)), nil
}

// open decodes a sealed ticket, or returns errTicket.
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

// maxTitle is how many characters of a voucher's title an address contains at most.
const maxTitle = 80

// titleParam is the query parameter with the voucher's title. It is not part of the ticket, because other versions of
// the service read tickets.
const titleParam = "for"

// sealTitle returns the query with a voucher's signed title for the ticket, or "" without a title.
func (k key) sealTitle(of, title string) string {
	if title == "" {
		return ""
	}
	text := []byte(title)
	if runes := []rune(title); len(runes) > maxTitle {
		text = []byte(string(runes[:maxTitle-1]) + "…")
	}
	return "?" + titleParam + "=" + encode(text) + "." + encode(k.sign(titled(of, text)))
}

// openTitle returns the title that sealTitle wrote for the ticket, or "".
func (k key) openTitle(of, sealed string) string {
	payload, mac, _ := strings.Cut(sealed, ".")
	text, errText := base64.RawURLEncoding.DecodeString(payload)
	signature, errMAC := base64.RawURLEncoding.DecodeString(mac)
	if len(sealed) > maxTicket || errText != nil || errMAC != nil || !k.verify(titled(of, text), signature) {
		return ""
	}
	return string(text)
}

// titled returns the text that a title's signature covers. It is valid for one ticket only, and is never a ticket's own
// text, which begins with a brace.
func titled(of string, title []byte) []byte { return append([]byte("title of "+of+" "), title...) }

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

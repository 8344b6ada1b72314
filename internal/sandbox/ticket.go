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

// maxTitle is how many characters of a voucher's title an address has.
const maxTitle = 80

// titleParam is the parameter with the voucher's title. It stands beside the ticket, not in it: other versions read
// those.
const titleParam = "for"

// sealTitle writes the title of what a ticket pays for as the query of its address, "" for none.
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

// openTitle reads what sealTitle wrote for the ticket, "" for anything else.
func (k key) openTitle(of, sealed string) string {
	payload, mac, _ := strings.Cut(sealed, ".")
	text, errText := base64.RawURLEncoding.DecodeString(payload)
	signature, errMAC := base64.RawURLEncoding.DecodeString(mac)
	if len(sealed) > maxTicket || errText != nil || errMAC != nil || !k.verify(titled(of, text), signature) {
		return ""
	}
	return string(text)
}

// titled is the text whose signature a title has: good for one ticket only, and no ticket's own, which begins with a
// brace.
func titled(of string, title []byte) []byte { return append([]byte("title of "+of+" "), title...) }

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

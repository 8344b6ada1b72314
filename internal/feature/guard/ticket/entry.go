package ticket

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"seckill/internal/feature/guard/keys"
)

// A ticket of a draw is 32 bytes, in base64url without padding 43 characters: a ticket with the type 'D' and the
// holder's entry behind its head. The entry is 0 if they have none. The signature covers the draw's number, too.
const (
	typeEntry = 'D'
	entrySize = headBytes + 8 + macBytes
)

// IssueEntry returns a ticket of the user for a draw of the sale. Error: keys.ErrNotKnown.
func (t *Tickets) IssueEntry(saleID, userID, draw, entry int64, expires time.Time) (string, error) {
	key, saltID, err := t.keys.Current(keys.Ticket, saleID)
	if err != nil {
		return "", err
	}
	at := expires.Unix()
	if at < 0 || at > maxExpiry {
		return "", fmt.Errorf("a ticket cannot expire at %v", expires)
	}
	var plain [ticketSize]byte
	head(&plain, saltID, at)
	plain[0] = typeEntry
	raw := binary.BigEndian.AppendUint64(append(make([]byte, 0, entrySize), plain[:headBytes]...), uint64(entry))
	sum := entrySignature(key, raw, saleID, userID, draw)
	return base64.RawURLEncoding.EncodeToString(append(raw, sum[:macBytes]...)), nil
}

// CheckEntry checks a user's ticket for a draw of a sale at a time, and returns its entry, or 0. Errors are those of
// Check.
func (t *Tickets) CheckEntry(text string, saleID, userID, draw int64, now time.Time) (entry int64, err error) {
	if text == "" {
		return 0, ErrRequired
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != entrySize || raw[0] != typeEntry || base64.RawURLEncoding.EncodeToString(raw) != text {
		return 0, ErrInvalid
	}
	key, err := t.keys.Find(keys.Ticket, saleID, binary.BigEndian.Uint16(raw[1:]))
	switch {
	case errors.Is(err, keys.ErrUnknownYet):
		return 0, ErrTryAgain
	case err != nil:
		return 0, ErrInvalid
	}
	signed := raw[:headBytes+8]
	sum := entrySignature(key, signed, saleID, userID, draw)
	if subtle.ConstantTimeCompare(sum[:macBytes], raw[len(signed):]) != 1 ||
		now.Unix() >= expiry((*[ticketSize]byte)(raw)) {
		return 0, ErrInvalid
	}
	return int64(binary.BigEndian.Uint64(raw[headBytes:])), nil
}

// entrySignature signs head and entry together with sale, user and draw.
func entrySignature(key *keys.Key, signed []byte, saleID, userID, draw int64) [keys.Bytes]byte {
	message := append(make([]byte, 0, headBytes+32), signed...)
	for _, n := range []int64{saleID, userID, draw} {
		message = binary.BigEndian.AppendUint64(message, uint64(n))
	}
	return key.Sign(message)
}

package ticket

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
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
	raw := make([]byte, headBytes, entrySize)
	key, err := t.head(raw, typeEntry, saleID, expires)
	if err != nil {
		return "", err
	}
	raw = binary.BigEndian.AppendUint64(raw, uint64(entry))
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
	key, err := t.key(raw, saleID)
	if err != nil {
		return 0, err
	}
	signed := raw[:headBytes+8]
	sum := entrySignature(key, signed, saleID, userID, draw)
	if subtle.ConstantTimeCompare(sum[:macBytes], raw[len(signed):]) != 1 || now.Unix() >= expiry(raw) {
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

package ticket

import (
	"encoding/binary"
	"time"
)

// A ticket of a draw is 32 bytes, in base64url without padding 43 characters: a ticket with the type 'D' and the
// holder's entry behind its head. The entry is 0 if they have none. The signature covers the draw's number, too.
const (
	typeEntry = 'D'
	entrySize = headBytes + 8 + macBytes
)

// IssueEntry returns a ticket of the user for a draw of the sale. Error: ErrTryAgain.
func (t *Tickets) IssueEntry(saleID, userID, draw, entry int64, expires time.Time) (string, error) {
	var raw [entrySize]byte
	binary.BigEndian.PutUint64(raw[headBytes:], uint64(entry))
	return t.seal(raw[:], typeEntry, expires, saleID, userID, draw)
}

// CheckEntry checks a user's ticket for a draw of a sale at a time, and returns its entry, or 0. Errors are those of
// Check.
func (t *Tickets) CheckEntry(text string, saleID, userID, draw int64, now time.Time) (entry int64, err error) {
	var raw [entrySize]byte
	if err := t.open(raw[:], text, typeEntry, now, saleID, userID, draw); err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(raw[headBytes:])), nil
}

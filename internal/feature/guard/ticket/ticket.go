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

// Errors of tickets, besides *EarlyError.
var (
	// ErrRequired: the sale needs a ticket, and none was sent.
	ErrRequired = errors.New("a ticket is required")
	// ErrInvalid: the ticket is not this user's for this sale, or it has expired.
	ErrInvalid = errors.New("the ticket is not valid")
	// ErrTryAgain: this instance has not read the key yet. Ask again in a second.
	ErrTryAgain = errors.New("the ticket's key is not known yet")
)

// EarlyError is the refusal of a ticket that is valid, but not usable yet. The time is zero while a draw has not
// decided it.
type EarlyError struct{ UsableFrom time.Time }

func (e *EarlyError) Error() string {
	return fmt.Sprintf("the ticket is usable from %s", e.UsableFrom.UTC().Format(time.RFC3339Nano))
}

// Tickets makes and checks tickets.
type Tickets struct {
	keys     *keys.Ring
	spelling *base64.Encoding // gives each ticket exactly one valid spelling, without spare bits
}

// New returns tickets signed with keys of the ring.
func New(ring *keys.Ring) *Tickets { return &Tickets{ring, base64.RawURLEncoding.Strict()} }

// A ticket is 24 bytes, in base64url without padding 32 characters:
//
//	T SS EEEEE MMMMMMMMMMMMMMMM
//	│ │  │     └ the first 16 bytes of the signature
//	│ │  └ when it expires: seconds since 1970
//	│ └ id of the salt
//	└ the type
//
// The signature covers type, salt and expiry, then sale and user. The ticket does not contain the last two, because
// the verifier knows them.
const (
	typeTicket = 'T'
	headBytes  = 8
	macBytes   = 16
	ticketSize = headBytes + macBytes

	// Length is how many characters a ticket has.
	Length = ticketSize / 3 * 4
	// maxExpiry is the latest time at which a ticket may expire.
	maxExpiry = 1<<40 - 1
)

// Issue returns a ticket of the user for the sale that expires at the given time, to the second. Error: ErrTryAgain.
func (t *Tickets) Issue(saleID, userID int64, expires time.Time) (string, error) {
	var raw [ticketSize]byte
	return t.seal(raw[:], typeTicket, expires, saleID, userID)
}

// Check checks a user's ticket for a sale at a time. Errors: ErrRequired if it is empty, ErrInvalid, ErrTryAgain.
func (t *Tickets) Check(text string, saleID, userID int64, now time.Time) error {
	var raw [ticketSize]byte
	return t.open(raw[:], text, typeTicket, now, saleID, userID)
}

// Delay returns how long after the sale's start the user's moment is: less than longest, to the millisecond; 0 if
// longest is below a millisecond.
func (t *Tickets) Delay(saleID, userID int64, longest time.Duration) time.Duration {
	steps := uint64(max(0, longest.Milliseconds()))
	if steps == 0 {
		return 0
	}
	return time.Duration(t.keys.Seed(keys.Delay, saleID).Number(userID)%steps) * time.Millisecond
}

// Usable returns nil once the user's moment has come, and an *EarlyError before it.
func (t *Tickets) Usable(saleID, userID int64, begin time.Time, longest time.Duration, now time.Time) error {
	if moment := begin.Add(t.Delay(saleID, userID, longest)); now.Before(moment) {
		return &EarlyError{UsableFrom: moment}
	}
	return nil
}

// seal writes head and signature of a ticket around what raw has between them. signed are the numbers that its verifier
// knows: the sale, then the user. Error: ErrTryAgain.
func (t *Tickets) seal(raw []byte, kind byte, expires time.Time, signed ...int64) (string, error) {
	key, saltID, err := t.keys.Current(keys.Ticket, signed[0])
	if err != nil {
		return "", ErrTryAgain // no salt could be read yet
	}
	at := expires.Unix()
	if at < 0 || at > maxExpiry {
		return "", fmt.Errorf("a ticket cannot expire at %v", expires)
	}
	raw[0] = kind
	binary.BigEndian.PutUint16(raw[1:], saltID)
	raw[3] = byte(at >> 32)
	binary.BigEndian.PutUint32(raw[4:], uint32(at))
	sum := signature(key, raw[:len(raw)-macBytes], signed)
	copy(raw[len(raw)-macBytes:], sum[:macBytes])
	return t.spelling.EncodeToString(raw), nil
}

// open decodes into raw a ticket that seal has made of it, and checks it. Errors are those of Check.
func (t *Tickets) open(raw []byte, text string, kind byte, now time.Time, signed ...int64) error {
	if text == "" {
		return ErrRequired
	}
	if len(text) != t.spelling.EncodedLen(len(raw)) {
		return ErrInvalid
	}
	n, err := t.spelling.Decode(raw, []byte(text))
	if err != nil || n != len(raw) || raw[0] != kind { // it skips line ends, so n is less where there are any
		return ErrInvalid
	}
	key, err := t.keys.Find(keys.Ticket, signed[0], binary.BigEndian.Uint16(raw[1:]))
	switch {
	case errors.Is(err, keys.ErrUnknownYet):
		return ErrTryAgain
	case err != nil:
		return ErrInvalid
	}
	sum := signature(key, raw[:len(raw)-macBytes], signed)
	if subtle.ConstantTimeCompare(sum[:macBytes], raw[len(raw)-macBytes:]) != 1 || now.Unix() >= expiry(raw) {
		return ErrInvalid
	}
	return nil
}

func expiry(raw []byte) int64 {
	return int64(raw[3])<<32 | int64(binary.BigEndian.Uint32(raw[4:]))
}

// signature signs the beginning of a ticket together with the numbers.
func signature(key *keys.Key, begin []byte, signed []int64) [keys.Bytes]byte {
	message := append(make([]byte, 0, entrySize+3*8), begin...)
	for _, n := range signed {
		message = binary.BigEndian.AppendUint64(message, uint64(n))
	}
	return key.Sign(message)
}

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
	// ErrTryAgain: this instance has not read the ticket's key yet. Ask again in a second.
	ErrTryAgain = errors.New("the ticket's key is not known yet")
)

// EarlyError is the refusal of a ticket that is valid, but not usable yet. The time is zero while a draw has not
// decided it.
type EarlyError struct{ UsableFrom time.Time }

func (e *EarlyError) Error() string {
	return fmt.Sprintf("the ticket is usable from %s", e.UsableFrom.UTC().Format(time.RFC3339Nano))
}

// Tickets makes and checks tickets.
type Tickets struct{ keys *keys.Ring }

// New returns tickets signed with keys of the ring.
func New(ring *keys.Ring) *Tickets { return &Tickets{keys: ring} }

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

// Issue returns a ticket of the user for the sale that expires at the given time, to the second. Error:
// keys.ErrNotKnown.
func (t *Tickets) Issue(saleID, userID int64, expires time.Time) (string, error) {
	var raw [ticketSize]byte
	key, err := t.head(raw[:], typeTicket, saleID, expires)
	if err != nil {
		return "", err
	}
	sum := signature(key, raw[:headBytes], saleID, userID)
	copy(raw[headBytes:], sum[:macBytes])
	return base64.RawURLEncoding.EncodeToString(raw[:]), nil
}

// Check checks a user's ticket for a sale at a time. Errors: ErrRequired if it is empty, ErrInvalid, ErrTryAgain.
func (t *Tickets) Check(text string, saleID, userID int64, now time.Time) error {
	if text == "" {
		return ErrRequired
	}
	var raw [ticketSize]byte
	if !decode(&raw, text) || raw[0] != typeTicket {
		return ErrInvalid
	}
	key, err := t.key(raw[:], saleID)
	if err != nil {
		return err
	}
	sum := signature(key, raw[:headBytes], saleID, userID)
	if subtle.ConstantTimeCompare(sum[:macBytes], raw[headBytes:]) != 1 {
		return ErrInvalid
	}
	if now.Unix() >= expiry(raw[:]) {
		return ErrInvalid
	}
	return nil
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

// head writes the head of a ticket of that type, and returns the key that signs it. Error: keys.ErrNotKnown.
func (t *Tickets) head(raw []byte, kind byte, saleID int64, expires time.Time) (*keys.Key, error) {
	key, saltID, err := t.keys.Current(keys.Ticket, saleID)
	if err != nil {
		return nil, err
	}
	at := expires.Unix()
	if at < 0 || at > maxExpiry {
		return nil, fmt.Errorf("a ticket cannot expire at %v", expires)
	}
	raw[0] = kind
	binary.BigEndian.PutUint16(raw[1:], saltID)
	raw[3] = byte(at >> 32)
	binary.BigEndian.PutUint32(raw[4:], uint32(at))
	return key, nil
}

// key returns the key that must have signed the ticket with this head. Errors: ErrInvalid, ErrTryAgain.
func (t *Tickets) key(raw []byte, saleID int64) (*keys.Key, error) {
	key, err := t.keys.Find(keys.Ticket, saleID, binary.BigEndian.Uint16(raw[1:]))
	switch {
	case errors.Is(err, keys.ErrUnknownYet):
		return nil, ErrTryAgain
	case err != nil:
		return nil, ErrInvalid
	}
	return key, nil
}

func expiry(raw []byte) int64 {
	return int64(raw[3])<<32 | int64(binary.BigEndian.Uint32(raw[4:]))
}

// decode reads a ticket. Each ticket has exactly one valid spelling: no spare bits, no ignored characters.
func decode(raw *[ticketSize]byte, text string) bool {
	if len(text) != Length {
		return false
	}
	for i := range len(text) {
		if text[i] == '\n' || text[i] == '\r' { // the decoder would skip it
			return false
		}
	}
	n, err := base64.RawURLEncoding.Decode(raw[:], []byte(text))
	return err == nil && n == ticketSize
}

// signature signs a ticket's head together with its sale and its user.
func signature(key *keys.Key, head []byte, saleID, userID int64) [keys.Bytes]byte {
	var message [headBytes + 16]byte
	copy(message[:], head)
	binary.BigEndian.PutUint64(message[headBytes:], uint64(saleID))
	binary.BigEndian.PutUint64(message[headBytes+8:], uint64(userID))
	return key.Sign(message[:])
}

package order

import (
	"errors"
	"time"
)

// What can be wrong with a wish about a dead letter.
var (
	// ErrNoLetter: there is no such dead letter; it was replayed or discarded before.
	ErrNoLetter = errors.New("no such dead letter")
	// ErrNotReplayable: the letter names no order that was accepted and waits. The error says what it is instead.
	ErrNotReplayable = errors.New("dead letter cannot be replayed")
)

// errDiscarded is why an order failed whose dead letter was discarded.
var errDiscarded = errors.New("its dead letter was discarded")

// DeadLetter is a stream entry that could not be decoded and was put aside (rule 8).
type DeadLetter struct {
	ID      string            // what Replay and Discard are given
	Entry   string            // the id that the entry had among the accepted orders
	At      time.Time         // when it was put aside, by Redis's clock
	Why     string            // what is wrong with it, in English
	Fields  map[string]string // what stands in it
	LeftOut int               // fields that the letter had no room for
	Claim   Claim             // what the fields still say of the order: 0 for what they do not; epoch and sequence are always 0

	// What is known of the order. DeadLetters.List finds it out.
	Standing Standing
	Status   Status // for StandingRecorded
}

// named reports whether the letter still says whose order it was, and which.
func (l DeadLetter) named() bool {
	return l.Claim.VoucherID > 0 && l.Claim.UserID > 0 && l.Claim.OrderID > 0
}

// Standing is what became of the order that a dead letter speaks of.
type Standing int8

// The standings of a letter's order.
const (
	// StandingUnreadable: the fields do not say whose order it was. If it was one, the buyer's place still tells of it,
	// and a rebuild queues it again. Only discarding makes sense, and changes nothing but the list.
	StandingUnreadable Standing = iota
	// StandingWaiting: the order was accepted and has no row. Replaying has it recorded, discarding makes it fail.
	StandingWaiting
	// StandingRecorded: the order has its row, so that the letter tells nothing new. Only discarding makes sense.
	StandingRecorded
	// StandingUnknown: neither a place nor a row tells of the order: nobody was told that he has it. Only discarding makes
	// sense.
	StandingUnknown
)

// String returns the standing as one word for people and programs.
func (s Standing) String() string {
	switch s {
	case StandingUnreadable:
		return "unreadable"
	case StandingWaiting:
		return "waiting"
	case StandingRecorded:
		return "recorded"
	default:
		return "unknown"
	}
}

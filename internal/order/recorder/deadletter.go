package recorder

import (
	"errors"
	"time"

	"seckill/internal/order"
)

// ErrNotReplayable says that the dead letter names no order that was accepted and waits. The error says what it is
// instead.
var ErrNotReplayable = errors.New("dead letter cannot be replayed")

// errDiscarded is the cause of a failed order whose dead letter was discarded.
var errDiscarded = errors.New("its dead letter was discarded")

// DeadLetter is a stream entry that could not be decoded and was put aside (rule 8).
type DeadLetter struct {
	ID      string            // what Replay and Discard are given
	Entry   string            // the id that the entry had among the accepted orders
	At      time.Time         // when it was put aside, by Redis's clock
	Why     string            // what is wrong with it, in English
	Fields  map[string]string // its fields
	LeftOut int               // fields that the dead letter had no room for
	Claim   order.Claim       // as far as the fields still tell; 0 for the rest, always for epoch and sequence

	// What is known of the order; DeadLetters.List fills it in.
	State  DeadLetterState
	Status order.Status // for DeadLetterRecorded
}

// named reports whether the dead letter still says which order it was, and of which user.
func (l DeadLetter) named() bool {
	return l.Claim.VoucherID > 0 && l.Claim.UserID > 0 && l.Claim.OrderID > 0
}

// DeadLetterState is what became of a dead letter's order.
type DeadLetterState int8

// The states of a dead letter's order.
const (
	// DeadLetterUnreadable: the fields do not say which order it was. If there was one, its holder is left, and a
	// rebuild requeues it. Only discarding makes sense, and changes nothing but the list.
	DeadLetterUnreadable DeadLetterState = iota
	// DeadLetterWaiting: the order was accepted and has no row. Replaying has it recorded, discarding makes it fail.
	DeadLetterWaiting
	// DeadLetterRecorded: the order has its row. Only discarding makes sense.
	DeadLetterRecorded
	// DeadLetterUnknown: the order has neither a holder nor a row, so no buyer knows it. Only discarding makes sense.
	DeadLetterUnknown
)

// String returns the state as one word for people and programs.
func (s DeadLetterState) String() string {
	switch s {
	case DeadLetterUnreadable:
		return "unreadable"
	case DeadLetterWaiting:
		return "waiting"
	case DeadLetterRecorded:
		return "recorded"
	default:
		return "unknown"
	}
}

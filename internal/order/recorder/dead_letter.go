package recorder

import (
	"errors"
	"time"

	"seckill/internal/order"
)

// ErrNotReplayable says that the dead letter names no accepted order that waits for its row. The error says what is
// wrong instead.
var ErrNotReplayable = errors.New("dead letter cannot be replayed")

// errDiscarded is the cause of a failed order whose dead letter was discarded.
var errDiscarded = errors.New("its dead letter was discarded")

// DeadLetter is a stream entry that could not be decoded and was put aside (rule 8).
type DeadLetter struct {
	ID      string            // the name for Replay and Discard
	Entry   string            // the entry's id in the stream of accepted orders
	At      time.Time         // when it became a dead letter, by Redis's clock
	Why     string            // what is wrong with it, in English
	Fields  map[string]string // its fields
	LeftOut int               // number of fields that did not fit into the dead letter
	Claim   order.Claim       // as far as the fields can be read, 0 for the rest; epoch and sequence are always 0

	// What is known of the order; DeadLetters fills it in.
	State  DeadLetterState
	Status order.Status // for DeadLetterRecorded
}

// named reports whether the dead letter still says which order it was, and whose.
func (l DeadLetter) named() bool {
	return l.Claim.VoucherID > 0 && l.Claim.UserID > 0 && l.Claim.OrderID > 0
}

// DeadLetterState says where a dead letter's order is.
type DeadLetterState int8

// The states of a dead letter's order.
const (
	// DeadLetterUnreadable: the fields do not say which order it was. If there was an order, its holder is left, and a
	// rebuild requeues it. Such a dead letter can only be discarded, which changes nothing else.
	DeadLetterUnreadable DeadLetterState = iota
	// DeadLetterWaiting: the order was accepted and has no row. Replaying has it recorded, discarding makes it fail.
	DeadLetterWaiting
	// DeadLetterRecorded: the order has its row. The dead letter can only be discarded.
	DeadLetterRecorded
	// DeadLetterUnknown: the order has neither a holder nor a row, so no buyer knows of it. The dead letter can only be
	// discarded.
	DeadLetterUnknown
)

var deadLetterStates = [...]string{"unreadable", "waiting", "recorded", "unknown"}

// String returns the state as one word for people and programs.
func (s DeadLetterState) String() string {
	if s < 0 || int(s) >= len(deadLetterStates) {
		s = DeadLetterUnknown
	}
	return deadLetterStates[s]
}

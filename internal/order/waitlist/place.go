package waitlist

import (
	"errors"
	"time"
)

// MaxAttempts is how often a unit is offered before it goes on sale.
const MaxAttempts = 3

// MaxCounted is up to how many who wait ahead of a place are counted.
const MaxCounted = 1000

// Errors of this package. httpapi maps them to answers.
var (
	// ErrNoList: the sale has no waiting list.
	ErrNoList = errors.New("the sale has no waiting list")
	// ErrOnSale: there are units that anybody can buy, or, when one has just come back, in a second
	// (order.ReturnDelay).
	ErrOnSale = errors.New("the sale is not sold out")
	// ErrNoPlace: the user has no place on the list.
	ErrNoPlace = errors.New("the user has no place on the waiting list")
	// ErrNoOffer: the user's place has no offer: it waits still, or the offer is over.
	ErrNoOffer = errors.New("the place has no offer")
	// ErrAccepted: the offer is accepted, so that the place cannot be left any more: the order that it makes can be
	// cancelled.
	ErrAccepted = errors.New("the offer is accepted")
)

// State is where a place is. Its numbers are the ones stored.
type State int8

// The states of a place. The first three are open: a user has one open place of a sale at most.
const (
	Waiting  State = 1
	Offered  State = 2 // a unit is kept for its user, until the deadline
	Accepted State = 3 // its user wants it, and Redis is asked whether they have no other order
	Bought   State = 4 // the offer has become an order
	Left     State = 5 // its user gave it up, and the offer if it had one
	Missed   State = 6 // the deadline passed
	Refused  State = 7 // its user has another order
	Over     State = 8 // the sale ended
)

// String returns the state's name as it is shown.
func (s State) String() string {
	if s < Waiting || s > Over {
		return "unknown"
	}
	return [...]string{"", "waiting", "offered", "accepted", "bought", "left", "missed", "refused", "over"}[s]
}

// Open reports whether a unit may still become the user's by it.
func (s State) Open() bool { return s >= Waiting && s <= Accepted }

// Place is a user's place on the waiting list of a sale.
type Place struct {
	VoucherID int64
	UserID    int64
	Position  int64 // in the order of joining; two users never have the same one
	State     State
	// Ahead is how many wait before it, up to MaxCounted; set for places that wait. Those who have an offer are not
	// among them.
	Ahead     int64
	JoinedAt  time.Time
	OfferedAt time.Time
	Deadline  time.Time // until when its offer may be accepted, exclusive
	Attempt   int64     // how often its unit was offered, this time included
	OrderID   int64     // that accepting it makes; 0 before
	EndedAt   time.Time
}

// Counts is how many places a waiting list has in each state.
type Counts struct{ Waiting, Offered, Accepted, Bought, Left, Missed, Refused, Over int64 }

// Sums is what has become of a sale's places. A place is offered a unit once at most.
type Sums struct {
	Joined   int64 // all places
	Waiting  int64 // waiting now
	Offered  int64 // were offered a unit: Open + Bought + Passed
	Open     int64 // their offer stands, or is accepted and not decided yet
	Accepted int64 // their offer was accepted
	Bought   int64 // their offer became an order
	Passed   int64 // their offer ended without an order: declined, missed, refused or over
}

// Pass is what one look at the offers has changed.
type Pass struct {
	Missed   int64   // offers whose deadline had passed
	Asked    int64   // accepted offers about which Redis is asked again
	Over     int64   // places that ended with their sale
	Vouchers []int64 // which have new operations
}

// Plus returns both together.
func (p Pass) Plus(q Pass) Pass {
	return Pass{
		Missed: p.Missed + q.Missed, Asked: p.Asked + q.Asked, Over: p.Over + q.Over,
		Vouchers: append(p.Vouchers, q.Vouchers...),
	}
}

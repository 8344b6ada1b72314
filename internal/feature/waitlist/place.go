package waitlist

import (
	"errors"
	"time"
)

// MaxMissed is how many invitations in a row a place may miss: the last one ends it.
const MaxMissed = 2

// MaxCounted bounds how many of the places before a place are counted.
const MaxCounted = 1000

// Errors of this package, which rules.go maps to answers.
var (
	// ErrNoList: the sale has no waiting list.
	ErrNoList = errors.New("the sale has no waiting list")
	// ErrOnSale: there are units that anybody can buy, or a unit has just come back and goes on sale within
	// order.ReturnDelay.
	ErrOnSale = errors.New("the sale is not sold out")
	// ErrNoPlace: the user has no place on the list.
	ErrNoPlace = errors.New("the user has no place on the waiting list")
	// ErrNotInvited: the place is still waiting, its window has passed, or it has ended.
	ErrNotInvited = errors.New("the place is not invited")
	// ErrAccepted: the invitation was accepted, so the place cannot be left any more; its order can be cancelled.
	ErrAccepted = errors.New("the invitation is accepted")
)

// State is the state of a place. Its numbers are stored.
type State int8

// The states of a place. The first three are open: a user has at most one open place of a sale.
const (
	Waiting   State = 1
	Invited   State = 2  // a unit is kept for its user, until the deadline
	Accepted  State = 3  // its user takes the unit, and Redis is asked whether they have no other order
	Bought    State = 4  // it has become an order
	Left      State = 5  // its user gave it up before their turn
	Declined  State = 6  // its user gave up an invitation
	Missed    State = 7  // MaxMissed windows have passed
	Refused   State = 8  // its user has another order
	Over      State = 9  // the sale ended
	CalledOff State = 10 // the sale was called off
)

// String returns the state's name as it is shown.
func (s State) String() string {
	if s < Waiting || s > CalledOff {
		return "unknown"
	}
	return [...]string{
		"", "waiting", "invited", "accepted", "bought", "left", "declined", "missed", "refused", "over", "called_off",
	}[s]
}

// Open reports whether the place may still get its user a unit.
func (s State) Open() bool { return s >= Waiting && s <= Accepted }

// Place is a user's place on the waiting list of a sale.
type Place struct {
	VoucherID int64
	UserID    int64
	Position  int64 // in the order of joining; two users never have the same one
	State     State
	Standing  bool  // it is accepted as soon as its turn comes
	Claimed   bool  // the guards have counted its unit: it was accepted, or once had a standing yes
	Claims    bool  // the call that returned the place claimed its unit, which only one call does
	Missed    int64 // how many invitations it has missed
	// Ahead is how many waiting places are before it, up to MaxCounted; set for waiting places. Invited places do not
	// count.
	Ahead     int64
	JoinedAt  time.Time
	InvitedAt time.Time // when it was last invited; zero: never
	Deadline  time.Time // the end of the time to accept this invitation, exclusive
	Paused    bool      // the sale is paused, and the deadline will move by the pause
	OrderID   int64     // the order that accepting it makes; 0: it was not accepted
	EndedAt   time.Time
}

// Counts counts the places of a list by state, the units kept for them, and the outcomes of their invitations.
type Counts struct {
	States   map[State]int64
	Kept     int64
	Joined   int64 // all places
	Invited  int64 // places that were invited at least once
	Accepted int64 // places that were accepted, also with a standing yes
	Missed   int64 // invitations, not places, whose window passed
}

// Pass has the changes of one turn of a list.
type Pass struct {
	Invited, Accepted, Missed int64 // places; Accepted counts those with a standing yes
	Bought, Refused           int64 // decided acceptances; Refused also counts places whose user has an order
	Again                     int64 // acceptances about which Redis is asked again
	Over                      int64
	Released                  int64 // units put on sale, because nobody waits
	// NeedsIDs: places with a standing yes wait for order ids.
	NeedsIDs bool
	// More: the turn was cut short, and more is due.
	More bool
}

// Asks reports whether there are new operations to be applied to Redis.
func (p Pass) Asks() bool { return p.Accepted+p.Again+p.Released > 0 }

package order

import (
	"time"

	"seckill/internal/voucher"
)

// Terms are what a voucher says about each of its orders. The service never changes them. Those of a voucher that does
// not exist are zero.
type Terms struct {
	ShopID     int64
	Cents      int64         // the price of one unit
	PayWithin  time.Duration // of an order's recording
	Redemption voucher.Redemption
}

// Deadline returns until when an order that is recorded at now is to be paid.
func (t Terms) Deadline(now time.Time) time.Time { return now.Add(t.PayWithin) }

// Change is what one transaction of the ledger has done to an order, or is about to do.
type Change struct {
	Order    Order // afterwards; before the action, where it is asked whether it may be taken
	Terms    Terms // of its voucher
	Recorded bool  // it is a new row, unpaid or failed; else Action has brought it to its state
	Action   Action
	By       Actor
	Why      Why // may be empty
	At       time.Time
	Offer    OfferID // of which the order came, in the transaction that records it; else zero
}

// Step has an action taken with one order.
type Step struct {
	Order Order // as it was locked
	By    Actor
	Why   Why // may be empty
}

// Line is a line of an order's history without a step.
type Line struct {
	OrderID int64
	Event   Event
}

// OfferID names an offer by the place on a waiting list that got it: a place gets one at most.
type OfferID struct{ VoucherID, Position int64 }

// OfferChange is what one transaction of the ledger has made of an offer.
type OfferChange struct {
	ID       OfferID
	UserID   int64
	OrderID  int64 // that it has become; 0: none
	State    OfferState
	Joined   time.Time // when the user joined the list
	Offered  time.Time
	Deadline time.Time // until when it may be accepted, exclusive
	Ended    time.Time // zero: it stands
	At       time.Time // of the change
}

// OfferState is where an offer is.
type OfferState int8

// The states of an offer.
const (
	OfferMade     OfferState = iota + 1 // a unit is kept for its user
	OfferBought                         // it has become an order
	OfferDeclined                       // its user gave it up
	OfferMissed                         // its deadline has passed
	OfferRefused                        // its user has another order
	OfferOver                           // the sale is over
)

// String returns the state's name as it is shown: that of the place which got the offer.
func (s OfferState) String() string {
	if s < OfferMade || s > OfferOver {
		return "unknown"
	}
	return [...]string{"offered", "bought", "left", "missed", "refused", "over"}[s-OfferMade]
}

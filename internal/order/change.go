package order

import (
	"time"

	"seckill/internal/voucher"
)

// Terms are what a voucher says about each of its orders. The service never changes them. A voucher that does not exist
// has zero Terms.
type Terms struct {
	ShopID     int64
	Cents      int64         // the price of one unit
	PayWithin  time.Duration // how long an order may stay unpaid once it is recorded
	Redemption voucher.Redemption
}

// Deadline returns the time until which an order that is recorded at now must be paid.
func (t Terms) Deadline(now time.Time) time.Time { return now.Add(t.PayWithin) }

// Change is what one transaction of the ledger has done, or is about to do, to an order.
type Change struct {
	Order    Order // after the action; before it, where a hook is asked whether the action may be taken
	Terms    Terms // of the order's voucher
	Recorded bool  // the order is a new row, unpaid or failed; otherwise Action has changed an existing one
	Action   Action
	By       Actor
	Why      Why // may be empty
	At       time.Time
	Offer    OfferID // the offer that became this order, in the transaction that records it; otherwise zero
}

// Step is an action to be taken on one order.
type Step struct {
	Order Order // the order when it was locked
	By    Actor
	Why   Why // may be empty
}

// Line is a line of an order's history that changes no state.
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
	OrderID  int64 // the order that the offer has become; 0: none
	State    OfferState
	Joined   time.Time // when the user joined the list
	Offered  time.Time
	Deadline time.Time // until when it may be accepted, exclusive
	Ended    time.Time // when the offer ended; zero: it is open
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

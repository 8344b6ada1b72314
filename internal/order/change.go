package order

import (
	"time"

	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/voucher"
)

// Terms are the part of a voucher that its orders depend on. The service never changes them. A voucher that does not
// exist has zero Terms.
type Terms struct {
	ShopID     int64
	Cents      int64         // the price of one unit
	Currency   string        // of all amounts, a code of ISO 4217
	PayWithin  time.Duration // how long an order may stay unpaid once it is recorded
	Redemption voucher.Redemption
	// ProcessingWithin is by how much the payment deadline may move while money is under way.
	ProcessingWithin time.Duration
}

// Deadline returns the time until which an order that is recorded at now must be paid.
func (t Terms) Deadline(now time.Time) time.Time { return now.Add(t.PayWithin) }

// Change is what one transaction of the ledger has done, or is about to do, to an order.
type Change struct {
	Order    Order // after the action; before it when a hook is asked whether the action may be taken
	Terms    Terms // of the order's voucher
	Recorded bool  // the order is a new row, unpaid or failed; otherwise Action has changed an existing one
	Action   Action
	By       Actor
	Why      reason.Why // may be empty
	At       time.Time
}

// Step is an action to be taken on one order.
type Step struct {
	Order Order // the order when it was locked
	By    Actor
	Why   reason.Why // may be empty
}

// Line is a line of an order's history that changes no state.
type Line struct {
	OrderID int64
	Event   Event
}

// PlaceID names a place on a waiting list.
type PlaceID struct{ VoucherID, Position int64 }

// Turn is what one transaction of a waiting list has done to a place whose turn has come.
type Turn struct {
	ID       PlaceID
	UserID   int64
	OrderID  int64 // the order that accepting makes; 0 before
	Kind     TurnKind
	Number   int64     // numbers the turns of the place from 1
	Joined   time.Time // when the user joined the list
	Invited  time.Time // when the user was invited; zero if they had accepted in advance
	Deadline time.Time // until when the invitation may be accepted, exclusive; zero if Invited is
	Ended    time.Time // zero: the place is open
	Missed   int64     // how many invitations it has missed
	Units    int64     // units that went on sale; only for TurnReleased
	At       time.Time
}

// TurnKind says what has happened to a place. It is the word that is shown.
type TurnKind string

// The kinds of turn. TurnReleased concerns the whole list, so its Position is 0.
const (
	TurnInvited  TurnKind = "invited"  // a unit is kept for its user, until the deadline
	TurnAccepted TurnKind = "accepted" // its user takes the unit; Redis is asked whether they have another order
	TurnMissed   TurnKind = "missed"   // the deadline has passed
	TurnDeclined TurnKind = "declined" // its user gave the invitation up
	TurnEnded    TurnKind = "ended"    // its user has another order, or the sale is over
	TurnReleased TurnKind = "released" // nobody waits: the kept units go on sale
)

// PaymentChange is news of a payment.
type PaymentChange struct {
	Order   Order // of the payment, with a Revision that counts this change
	Terms   Terms // of the order's voucher
	Payment payment.Payment
	News    payment.News
	Refund  payment.Refund // that the news is about; zero: it is about none
	At      time.Time
}

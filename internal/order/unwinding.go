package order

import "time"

// Fate is what happens to an order when its sale is called off. The word is shown.
type Fate string

// The fates. The unwinder has still to handle orders of the first two; those of the next seven are left to staff.
const (
	FateUnpaid    Fate = "unpaid"     // it will be cancelled
	FatePaid      Fate = "paid"       // its money will be sent back
	FateRedeemed  Fate = "redeemed"   // a till has redeemed it
	FateLapsed    Fate = "lapsed"     // its coupon's date has passed
	FateFree      Fate = "free"       // it cost nothing
	FateDisputed  Fate = "disputed"   // its payment is disputed
	FateNoPayment Fate = "no_payment" // it is paid, without a payment whose money could be sent back
	FateStuck     Fate = "stuck"      // it is refunding, and its provider has finally refused to send the money back
	FateRefunding Fate = "refunding"  // its money is on its way back
	FateRefunded  Fate = "refunded"   // its money has gone back, or staff have closed the refund
	FateCancelled Fate = "cancelled"  // it was cancelled, or expired
	FateFailed    Fate = "failed"     // it could not be recorded
	FatePurged    Fate = "purged"     // it was deleted; what became of it before is in the report's figures
)

// Tally is a number of orders, with the sums of their units and of their amounts in cents. The names in JSON are
// stored.
type Tally struct {
	Orders int64 `json:"orders"`
	Units  int64 `json:"units"`
	Cents  int64 `json:"amount"`
}

// Plus returns the sum of both tallies.
func (t Tally) Plus(o Tally) Tally {
	return Tally{t.Orders + o.Orders, t.Units + o.Units, t.Cents + o.Cents}
}

// Unwinding is how far a sale that was called off is unwound.
type Unwinding struct {
	CalledOff time.Time // zero: the sale was not called off
	Retired   bool      // nothing is unwound any more
	// Orders counts the orders by fate. Before counts those that were cancelled or refunded before the calling off.
	Orders, Before map[Fate]Tally
	Withdrawn      int64 // units that are in the stock but will never be sold
	Kept           int64 // units that are still kept for users who waited
	Issued         int64
}

// LeftOrder is an order that is left to staff.
type LeftOrder struct {
	Order Order
	Fate  Fate
}

// Pending reports whether the unwinder still has work, as far as the ledger knows: accepted orders may not be recorded
// yet.
func (u Unwinding) Pending() bool {
	return u.Orders[FateUnpaid].Orders+u.Orders[FatePaid].Orders+u.Orders[FateRefunding].Orders+u.Kept > 0
}

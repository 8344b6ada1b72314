package order

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"seckill/internal/order/reason"
	"seckill/internal/voucher"
)

// Status is the state of an order. Its numbers are the ones stored; 0 is never stored.
type Status int8

// The states of an order. A user can have one live order per sale; it makes them a holder.
const (
	StatusUnknown Status = -1 // the ledger could not be asked
	Queued        Status = 0  // accepted, waiting for its row
	Unpaid        Status = 1
	Paid          Status = 2
	Redeemed      Status = 3
	Cancelled     Status = 4
	Refunding     Status = 5
	Refunded      Status = 6
	Failed        Status = 7 // accepted, but could not be recorded; Reason says why
	Lapsed        Status = 8 // paid, and not redeemed while its coupon was valid; its unit is used up
)

var statusNames = [...]string{
	"queued", "unpaid", "paid", "redeemed", "cancelled", "refunding", "refunded", "failed", "lapsed",
}

// String returns the status's name as shown to people and clients.
func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return "unknown"
	}
	return statusNames[s]
}

// Live reports whether an order in this state has a unit and makes its user a holder in the sale.
func (s Status) Live() bool {
	return s == Queued || s == Unpaid || s == Paid || s == Redeemed || s == Refunding || s == Lapsed
}

// Final reports whether an order in this state never changes again by itself: only staff can undo a redemption, or
// extend a coupon that has lapsed. Cancelled is not final: a late payment may revive the order.
func (s Status) Final() bool { return s == Redeemed || s == Refunded || s == Failed || s == Lapsed }

// Order is one order as its owner sees it: a row of tb_voucher_order, or an accepted order that waits for its row. A
// time is zero until its event has happened.
type Order struct {
	ID          int64
	UserID      int64
	VoucherID   int64
	Quantity    Quantity
	Amount      int64 // cents for all units, at the voucher's price when the order was recorded
	Status      Status
	Reason      reason.Failure // why it failed, if it did
	CreatedAt   time.Time
	PayBefore   time.Time // the deadline after which an unpaid order expires, by the ledger's clock
	PaidAt      time.Time
	RedeemedAt  time.Time
	CancelledAt time.Time
	RefundingAt time.Time
	RefundedAt  time.Time
	FailedAt    time.Time
	LapsedAt    time.Time
	Processing  bool  // it is unpaid, and money for it is under way
	HasRefunds  bool  // there are refunds of its payments
	Revision    int64 // how much Number exceeds the count of its times (Action.Revisions)
}

// Claim is an accepted order on its way to its row: the contents of a stream entry.
type Claim struct {
	OrderID   int64
	UserID    int64
	VoucherID int64
	Epoch     int64 // the sale's epoch when the order was accepted
	Sequence  int64 // its number among the admissions of that epoch; 0: unknown
	Quantity  Quantity
}

// Held returns what makes the claim's user a holder.
func (c Claim) Held() Held { return Held{OrderID: c.OrderID, Quantity: c.Quantity} }

// RowID returns the id under which the ledger looks for the claim's row. At try 0 that is the order's own id. If
// another order has it, the id of try 1 stands in, and so on until one is free. An id depends only on the order's id,
// the user, the voucher and the try, so a claim that is delivered again finds the row that was written for it
// (docs/adr/0019). It keeps the upper half of the order's id, which says when the order was accepted. Stored rows have
// these ids: the derivation must never change.
func (c Claim) RowID(try int) int64 {
	if try == 0 {
		return c.OrderID
	}
	h := fnv.New32a()
	for _, n := range []int64{c.OrderID, c.UserID, c.VoucherID, int64(try)} {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) // it never fails
	}
	return c.OrderID>>32<<32 | int64(h.Sum32())
}

// HasRow reports whether the row, found under one of the claim's row ids, is the claim's. So is that of somebody who
// was forgotten: a restored Redis has claims from before.
func (c Claim) HasRow(row Order) bool {
	return (row.UserID == c.UserID || row.UserID >= voucher.FirstForgotten) && row.VoucherID == c.VoucherID &&
		(row.ID == c.OrderID || row.Reason == reason.IDCollision)
}

// Holding is what Redis knows of one user in one sale.
type Holding struct {
	OrderID  int64 // the order that makes the user a holder; 0: none
	Quantity Quantity
	Whole    bool // Redis holds the sale completely: an OrderID of 0 then proves that there is no order
	Mark     Mark // of the sale, if Whole
}

// Unrecorded says which sales of a partition may have accepted orders that have no row yet.
type Unrecorded struct {
	Now         time.Time // by Redis's clock
	Since       time.Time // only sales that have sold since then, by Redis's clock; zero: any sale
	Rebuilt     []int64   // vouchers whose sales were rebuilt recently, which may have queued older orders again
	DeadLetters bool      // there is an entry that cannot be decoded, so any sale may have such orders
}

// Page is a page of a user's orders.
type Page struct {
	Orders []Order // newest first; StatusUnknown where only the order's existence is certain
	Total  int64   // of all pages; unknown if Stale
	Stale  bool    // a store did not answer in time: orders may be missing
}

// BuyerKey names one user in one sale.
type BuyerKey struct{ VoucherID, UserID int64 }

// Buyer returns the user and sale of the claim.
func (c Claim) Buyer() BuyerKey { return BuyerKey{c.VoucherID, c.UserID} }

// Number returns how many states the order has had since it was recorded, the present one included: 1 for a new row,
// and one more after each step. Each step sets a time that no earlier step sets and no later one resets, so the number
// only rises, without a counter. Actions of staff set no such time or reset one, so Revision counts those.
func (o Order) Number() int64 {
	n := 1 + o.Revision
	for _, at := range []interface{ IsZero() bool }{
		o.PaidAt, o.RedeemedAt, o.CancelledAt, o.RefundingAt, o.RefundedAt, o.LapsedAt,
	} {
		if !at.IsZero() {
			n++
		}
	}
	return n
}

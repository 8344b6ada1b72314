package order

import (
	"encoding/binary"
	"hash/fnv"
	"time"
)

// Status is where an order is in its life. Its numbers are the ones stored; 0 is never stored.
type Status int8

// The states of an order. A live order of a sale makes its user a holder; they can have one at a time.
const (
	StatusUnknown Status = -1 // the ledger could not be asked
	Queued        Status = 0  // accepted, waiting for its row
	Unpaid        Status = 1
	Paid          Status = 2
	Redeemed      Status = 3
	Cancelled     Status = 4
	Refunding     Status = 5
	Refunded      Status = 6
	Failed        Status = 7 // accepted but could not be recorded; the row says why
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

// Final reports whether an order in this state never changes again. A cancelled one may: a payment may arrive late.
func (s Status) Final() bool { return s == Redeemed || s == Refunded || s == Failed || s == Lapsed }

// Order is one order as its owner sees it: a row of tb_voucher_order, or an accepted one that waits for its row.
// A time is zero until it happened.
type Order struct {
	ID          int64
	UserID      int64
	VoucherID   int64
	Quantity    Quantity
	Amount      int64 // cents for all units, at the voucher's price when the order was recorded
	Status      Status
	Reason      Reason // why it failed, for Failed
	CreatedAt   time.Time
	PayBefore   time.Time // an unpaid order expires then, by the ledger's clock
	PaidAt      time.Time
	RedeemedAt  time.Time
	CancelledAt time.Time
	RefundingAt time.Time
	RefundedAt  time.Time
	FailedAt    time.Time
	LapsedAt    time.Time
}

// Reason says why an accepted order could not be recorded. It is stored with the failed row.
type Reason string

// The reasons for a failed order.
const (
	// NoStock: the ledger had no unit left for it. Its unit is not given back to Redis: it never existed.
	NoStock Reason = "NO_STOCK"
	// DuplicateBuyer: the ledger held another live order of the user for the voucher.
	DuplicateBuyer Reason = "DUPLICATE_BUYER"
	// IDCollision: another order had the same id; this row has an id of its own (Claim.RowID).
	IDCollision Reason = "ID_COLLISION"
	// RejectedByLedger: the ledger refused the row for good.
	RejectedByLedger Reason = "REJECTED"
	// UnknownVoucher: the ledger holds no sale of the voucher that it names.
	UnknownVoucher Reason = "UNKNOWN_VOUCHER"
	// Discarded: its entry had become a dead letter, and an operator discarded that.
	Discarded Reason = "DISCARDED"
)

// GivesUnitBack reports whether the unit that Redis took for an order that failed for this reason is to be put back
// on sale there. Only a unit that the ledger has too may be: after NoStock Redis promised more than there is.
func (r Reason) GivesUnitBack() bool {
	return r == DuplicateBuyer || r == IDCollision || r == RejectedByLedger || r == Discarded
}

// Claim is an accepted order on its way to its row: what a stream entry says.
type Claim struct {
	OrderID   int64
	UserID    int64
	VoucherID int64
	Epoch     int64 // the sale's epoch when it was accepted
	Sequence  int64 // its number among the admissions of that epoch; 0 when that is not known
	Quantity  Quantity
}

// Held returns what makes the claim's user a holder.
func (c Claim) Held() Held { return Held{OrderID: c.OrderID, Quantity: c.Quantity} }

// RowID returns the id under which the ledger looks for the claim's row: at try 0 the order's own; where another
// order has that id, at try 1 one that stands in for it; and so on while another order is there. It depends on the
// order's id, the user and the voucher alone, so a claim that comes again finds the row that was written for it
// (docs/adr/0019). It keeps the id's upper half, which says when the order was accepted. Rows have it: the derivation
// never changes.
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

// HasRow reports whether the row, which has one of the claim's row ids, is the claim's.
func (c Claim) HasRow(row Order) bool {
	return row.UserID == c.UserID && row.VoucherID == c.VoucherID && (row.ID == c.OrderID || row.Reason == IDCollision)
}

// Holding is what Redis has of one user in one sale.
type Holding struct {
	OrderID  int64 // by which they are a holder; 0: none
	Quantity Quantity
	Whole    bool // what Redis lacks of the sale does not exist: it is not missing, unreadable, or being rebuilt
	Mark     Mark // of a whole sale
}

// Unrecorded says which sales of a partition may have accepted orders without a row.
type Unrecorded struct {
	Now         time.Time // by Redis's clock
	Since       time.Time // those that sold from then on, by Redis's clock; zero: any
	Rebuilt     []int64   // vouchers of those that were rebuilt lately, which may queue older orders again
	DeadLetters bool      // any: an entry waits that cannot be decoded
}

// Page is a page of a user's orders.
type Page struct {
	Orders []Order // newest first; StatusUnknown where only the order itself is certain
	Total  int64   // of all pages; not known of a stale one
	Stale  bool    // a store could not be asked in time: orders may be missing
}

// BuyerKey names one user in one sale.
type BuyerKey struct{ VoucherID, UserID int64 }

// Buyer returns the user and sale of the claim.
func (c Claim) Buyer() BuyerKey { return BuyerKey{c.VoucherID, c.UserID} }

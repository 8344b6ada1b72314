package order

import (
	"time"

	"seckill/internal/order/reason"
)

// Event is one line of an order's history: a change of its state, or something else that happened to it.
type Event struct {
	Status Status // the order's state after the event
	At     time.Time
	By     Actor
	Why    reason.Why // may be empty
}

// Actor is the kind of party that did something: one of the constants, or a feature's. The word is stored.
type Actor string

// The actors that change orders.
const (
	Owner      Actor = "owner"
	ByRecorder Actor = "recorder"
	ByExpirer  Actor = "expirer"
	ByProvider Actor = "payment provider"
	ByPayments Actor = "payments"     // decides about late payments
	ByUnwinder Actor = "unwinder"     // ends the orders of sales that were called off
	ByService  Actor = "service"      // the auditor, who pauses sales
	ByRecovery Actor = "recovery"     // pauses sales whose last decision the ledger has lost
	ByWaitlist Actor = "waiting list" // keeps units that come back for the users on the list
)

// Filter chooses orders. A zero field does not restrict.
type Filter struct {
	UserID    int64
	VoucherID int64
	ShopID    int64  // only the ledger restricts by it
	Payment   string // a payment's id, or the provider's reference of it; only Find of the ledger restricts by it
	OrderID   int64  // one order; only Find of the ledger restricts by it
	FirstID   int64  // orders from this id on; only Find of the ledger restricts by it
	Status    Status // Queued (0) does not restrict: queued orders have no row
	Waiting   bool   // only queued orders: the ledger has none
}

// Passes reports whether the filter lets the order through.
func (f Filter) Passes(o Order) bool {
	return (f.UserID == 0 || o.UserID == f.UserID) && (f.VoucherID == 0 || o.VoucherID == f.VoucherID) &&
		(f.Status == 0 || o.Status == f.Status) && (!f.Waiting || o.Status == Queued)
}

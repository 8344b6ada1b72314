package order

import "time"

// Event is one line of an order's history: it came into a state, or something else happened to it.
type Event struct {
	Status Status // the state in which the order was from then on
	At     time.Time
	By     Actor
	Why    string // in English, for people; may be empty
}

// Actor is who did something: one of the constants, or Admin(id).
type Actor string

// Who changes orders.
const (
	Owner      Actor = "owner"
	ByRecorder Actor = "recorder"
	ByCloser   Actor = "closer"
	ByProvider Actor = "payment provider"
	ByCashier  Actor = "cashier" // decides about late payments
)

// Filter chooses orders. A zero field does not restrict.
type Filter struct {
	UserID    int64
	VoucherID int64
	Status    Status // Queued (0) does not restrict: queued orders have no row
}

package sqlkit

import (
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// KeptUnits locks a sale's row until the transaction ends, for the feature that has the list of those who wait for its
// units. voucher.ErrNotFound, voucher.ErrNotSeckill.
type KeptUnits func(tx *gorm.DB, voucherID int64) (KeptSale, error)

// KeptSale is a locked sale with the units that are kept for those who wait.
type KeptSale interface {
	// Sale returns the sale as this transaction leaves it, without guards.
	Sale() voucher.Sale
	// SetOpen has units that come back from now on kept, or not.
	SetOpen(open bool) error
	// Ask has Redis asked whether users who accept a kept unit each have no other order, and returns the numbers of the
	// operations, in the order given. An acceptance whose operation a rebuild voided is asked about again with the same
	// order id; it is counted among the undecided ones still.
	Ask(acceptances []Acceptance, at time.Time) ([]int64, error)
	// Outcomes returns what became of the operations of acceptances, by number.
	Outcomes(numbers []int64) (map[int64]Outcome, error)
	// Release puts kept units on sale.
	Release(units int64, at time.Time) error
	// Turned runs the hooks for turns of the list's places.
	Turned(turns []order.Turn) error
}

// Acceptance is a user's of a kept unit, with the id that their order gets.
type Acceptance struct {
	UserID, OrderID int64
	Again           bool // it was asked about before, and its operation is void
}

// OperationPending is tb_voucher_operation.state of an operation that Redis has not decided.
const OperationPending = 1

// Outcome is what became of the operation that asks about an acceptance.
type Outcome int8

// The outcomes of an acceptance's operation.
const (
	Undecided Outcome = iota
	Taken             // the user has the order
	Refused           // the user has another one
	Voided            // a rebuild came between: it is to be asked about again
)

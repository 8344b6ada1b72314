package order

import "time"

// Operation is a numbered change of a sale that is committed in the ledger, and that Redis is to follow (rule 1,
// docs/architecture.md). The operations of a voucher are numbered from 1 without gaps, under the sale's row lock; Redis
// applies them in this order, each once.
//
// One that gives units back has raised the ledger's stock already. One that takes units (Takes) has not: Redis says
// first whether there are as many, and the ledger follows when the operation is settled.
type Operation struct {
	VoucherID int64
	Number    int64
	Kind      OperationKind
	Delta     int64 // units that go on sale; negative ones are to be taken

	// The order concerned, 0 for none. One that gives empties the user's place, if this order holds it; Revival takes
	// the place for this order, if nobody holds it.
	OrderID int64
	UserID  int64

	// What the sale is to do from now on; SaleMissing leaves it, and the window, as they are.
	Mode  SaleMode
	Begin time.Time
	End   time.Time // exclusive
}

// Takes reports whether the operation takes units, so that Redis may refuse it.
func (o Operation) Takes() bool { return o.Delta < 0 }

// OperationKind says what happened. It is the word that is stored.
type OperationKind string

// The kinds of operation.
const (
	Cancellation OperationKind = "cancel" // an owner cancelled his order: one unit back
	Closure      OperationKind = "close"  // the payment deadline passed: one unit back
	Repayment    OperationKind = "refund" // an order was refunded: one unit back
	Revival      OperationKind = "revive" // a late payment: takes one unit
	Restock      OperationKind = "stock"  // an admin's delta: gives or takes
	Pausing      OperationKind = "pause"  // and the following: no units, the sale's mode or window changes
	Resuming     OperationKind = "resume"
	Shelving     OperationKind = "shelf"
	Rescheduling OperationKind = "window"
)

// OperationResult is what became of an operation in Redis.
type OperationResult struct {
	Number int64
	Taken  bool // for one that takes: it got its units; for others true
}

// Application is how far Redis has followed.
type Application struct {
	State   ApplicationState
	Epoch   int64 // the sale's, as Redis has it; 0 when it does not hold the sale
	Applied int64 // number of the last operation that the sale in Redis contains
	Results []OperationResult
}

// ApplicationState says whether Redis could follow at all.
type ApplicationState int8

// The ways in which following can go. Only after ApplicationDone are there results.
const (
	ApplicationDone       ApplicationState = iota // every operation sent is applied, now or before
	ApplicationMissing                            // Redis does not hold the sale
	ApplicationRebuilding                         // the sale is being rebuilt, which absorbs or voids what is pending
	ApplicationGap                                // Redis lacks operations that the ledger knows as applied: it lost its tail
)

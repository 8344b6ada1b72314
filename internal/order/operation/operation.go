package operation

import (
	"slices"
	"time"

	"seckill/internal/order"
)

// MaxBatch is how many operations one call of scripts/apply.lua takes at most.
const MaxBatch = 250

// Operation is a numbered change of a sale that is committed in the ledger and that Redis must apply (rule 1,
// docs/architecture.md). The operations of a sale are numbered from 1, under the sale's row lock; Redis applies them in
// this order, each once. Numbers have a gap only where the ledger has lost operations that Redis had applied.
//
// An operation that gives units back has raised the ledger's stock already. One that takes units (Takes) has not: Redis
// decides first whether there are enough, and the ledger's stock changes when the operation is completed.
type Operation struct {
	VoucherID int64
	Number    int64
	// Identity is random. It tells the operation from a lost one that had its number; 0: it was written while a version
	// 1.0 might live.
	Identity int64
	Kind     Kind
	Delta    int64 // units to put on sale; negative: units to take

	// Kept is how many units, besides Delta, it keeps for the waiting list instead of putting them on sale. A negative
	// number is how many units are no longer kept.
	Kept int64

	// OrderID is the order concerned, 0 for none, and Units how many units it has. An operation that gives units back
	// removes the user as a holder if this order makes them one. A Revival and an Acceptance make the user a holder by
	// this order unless they are a holder already.
	OrderID int64
	UserID  int64

	// The mode and window after the operation. order.SaleMissing leaves both as they are.
	Mode  order.SaleMode
	Begin time.Time
	End   time.Time // exclusive
}

// Takes reports whether the operation takes units. Redis may refuse one that does.
func (o Operation) Takes() bool { return o.Delta < 0 || o.Kind == Acceptance }

// Units returns how many units the order concerned has.
func (o Operation) Units() int64 {
	switch {
	case o.Kind == Acceptance:
		return -o.Kept
	case o.Delta < 0:
		return -o.Delta
	default:
		return o.Delta + o.Kept
	}
}

// Held returns the order concerned with its units.
func (o Operation) Held() order.Held {
	return order.Held{OrderID: o.OrderID, Quantity: order.QuantityOf(o.Units())}
}

// SetsMode reports whether the operation sets the sale's mode and window.
func (o Operation) SetsMode() bool { return o.Mode != order.SaleMissing }

// Ref names the operation.
func (o Operation) Ref() order.OperationRef {
	return order.OperationRef{Number: o.Number, Identity: o.Identity}
}

// Kind says what kind of change the operation is. Its text is stored in the ledger.
type Kind string

// The kinds of operation.
const (
	Cancellation Kind = "cancel"  // the owner cancelled: gives the order's units back
	Expiration   Kind = "expire"  // the payment deadline passed: gives the order's units back
	Refund       Kind = "refund"  // the order was refunded: gives its units back
	Revival      Kind = "revive"  // a late payment: takes the order's units
	Restock      Kind = "stock"   // an admin's delta: gives or takes
	Acceptance   Kind = "accept"  // an invited user takes a kept unit
	Releasing    Kind = "release" // nobody waits for kept units: they go on sale
	Pausing      Kind = "pause"   // this and the following kinds change the sale's mode or window, not units
	Resuming     Kind = "resume"
	Shelving     Kind = "shelf"
	Rescheduling Kind = "window"
	CallingOff   Kind = "call_off"
)

// Decisions are the kinds of operations that people decide. They come from nothing else, so a lost one is lost for
// good; units that a lost cancellation or expiry gave back are found again.
func Decisions() []Kind {
	return []Kind{Restock, Pausing, Resuming, Shelving, Rescheduling, CallingOff}
}

// Decided reports whether operations of the kind are decisions.
func (k Kind) Decided() bool { return slices.Contains(Decisions(), k) }

// Result says how Redis decided one operation.
type Result struct {
	Number int64
	Taken  bool // whether a taking operation got its units; always true for others
	// Admission is the sale's new mark if a Revival or an Acceptance made a holder; otherwise zero.
	Admission order.Mark
}

// ApplyResult is Redis's answer to a call that applies operations.
type ApplyResult struct {
	State   ApplyState
	Epoch   int64 // the sale's epoch in Redis; 0 when Redis does not hold the sale
	Applied int64 // number of the last operation that Redis has applied to the sale
	Results []Result
}

// ApplyState says whether Redis could apply operations at all.
type ApplyState int8

// The states, by the numbers with which scripts/apply.lua answers. Only ApplyDone comes with results.
const (
	ApplyDone       ApplyState = iota // every operation sent is applied, by this call or an earlier one
	ApplyMissing                      // Redis does not hold the sale
	ApplyRebuilding                   // the sale is being rebuilt; the rebuild absorbs or voids pending operations
	ApplyGap                          // Redis lacks operations that the ledger knows as applied: it lost its tail
	// ApplyOther: Redis has applied an operation that the ledger did not have when it was read. Nothing was applied.
	ApplyOther
)

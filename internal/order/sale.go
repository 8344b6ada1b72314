package order

import (
	"fmt"
	"time"

	"seckill/internal/voucher"
)

// SaleRef names a sale and the partition of its keys.
type SaleRef struct {
	VoucherID int64
	Partition int
}

// SaleOf returns the sale of a seckill voucher.
func SaleOf(v voucher.Voucher) SaleRef { return SaleRef{VoucherID: v.ID, Partition: v.Sale.Partition} }

// Mark is how far a sale has got: its epoch and the number of admissions in that epoch. If Redis answers with a lower
// mark than one seen before, it has lost its latest writes (its tail).
type Mark struct{ Epoch, Sequence int64 }

// Before reports whether m lies before o.
func (m Mark) Before(o Mark) bool {
	return m.Epoch < o.Epoch || m.Epoch == o.Epoch && m.Sequence < o.Sequence
}

// SaleMode is a sale's state in Redis.
type SaleMode int8

// The modes of a sale in Redis.
const (
	SaleMissing    SaleMode = iota // Redis does not hold the sale
	SaleOpen                       // sells inside its window
	SalePaused                     // paused by an admin
	SaleOffShelf                   // taken off the shelf
	SaleRebuilding                 // being rebuilt from the ledger
	SaleCalledOff                  // called off: it never sells again
)

var modeWords = map[SaleMode]string{
	SaleOpen: "open", SalePaused: "paused", SaleOffShelf: "off_shelf", SaleCalledOff: "called_off",
}

// Word returns the mode's word for people's programs, as in saleState; "" for a mode that says nothing.
func (m SaleMode) Word() string { return modeWords[m] }

// ModeOf returns the mode that a sale must have in Redis.
func ModeOf(status voucher.Status, sale voucher.Sale) SaleMode {
	switch {
	case sale.IsCalledOff():
		return SaleCalledOff
	case status != voucher.OnShelf:
		return SaleOffShelf
	case sale.Paused:
		return SalePaused
	default:
		return SaleOpen
	}
}

// OperationRef names an operation of a sale: a number that a ledger which has lost operations gives again, and random
// bits. Identity 0 is not known.
type OperationRef struct{ Number, Identity int64 }

// Contradicts reports whether two references are of one number and certainly of different operations.
func (r OperationRef) Contradicts(o OperationRef) bool {
	return r.Number == o.Number && r.Identity != 0 && o.Identity != 0 && r.Identity != o.Identity
}

// Decided is an operation that a person decided. The zero Decided is not known.
type Decided struct {
	OperationRef

	Kind string // an operation.Kind, or NoDecision
}

// NoDecision is the kind of a Decided, without a number, that says that nobody has decided anything yet.
const NoDecision = "none"

// SaleView is the state of a sale in Redis at one moment.
type SaleView struct {
	Mode    SaleMode
	Mark    Mark
	Applied int64 // number of the last operation applied; only SaleReader sets it
	// AppliedIdentity is the identity of that operation; 0: not known. Only SaleReader sets it and Decided.
	AppliedIdentity int64
	// Decided is the last decision applied.
	Decided Decided
	// Building is the epoch of the rebuild that is under way according to Redis; 0: none. Only SaleReader sets it.
	Building int64
	Stock    int64 // units left to sell, including returned ones that cannot be sold yet
	Buyers   int64 // number of holders
	Extra    int64 // units of the holders beyond one each; only SaleReader sets it
	Begin    time.Time
	End      time.Time // exclusive
	Now      time.Time // Redis's clock
}

// UnreadableHolderError says that a field of a sale's hash of holders names no user or no order: somebody wrote it by
// hand. Such a field concerns no other holder, and a rebuild removes it.
type UnreadableHolderError struct{ Field, Value string }

func (e *UnreadableHolderError) Error() string {
	return fmt.Sprintf("holder %q with order %q cannot be read", e.Field, e.Value)
}

// LastApplied names the last operation applied.
func (v SaleView) LastApplied() OperationRef { return OperationRef{v.Applied, v.AppliedIdentity} }

// Snapshot is the ledger's data of one sale, read in one transaction under its row's lock.
type Snapshot struct {
	Voucher   voucher.Voucher
	Operation int64          // number of the last operation; the snapshot includes all operations up to it
	Identity  int64          // of that operation; 0: none
	Decided   Decided        // the last of them that a person decided; zero: not known
	Live      map[int64]Held // user id → live order
	Dead      map[int64]bool // ids of cancelled, refunded and failed orders
	// Admitted are the marks of operations that were admissions (operation.Result.Admission), in no order.
	Admitted []Mark
	// Void is how many void operations would have made a holder. It is not known whether Redis had applied them and
	// raised the sale's sequence.
	Void int64
}

// Opening is the sale that a rebuild publishes.
type Opening struct {
	Stock     int64
	Extra     int64 // units that the holders have beyond one each
	Begin     time.Time
	End       time.Time
	Mode      SaleMode // SaleOpen, SalePaused, SaleOffShelf or SaleCalledOff
	Operation int64
	Identity  int64   // of that operation; 0: none
	Decided   Decided // zero: Redis keeps what it has
}

// Both halves of rule 11 (docs/architecture.md): a unit that comes back to a sold-out sale cannot be sold before every
// instance's sold-out cache has expired.
const (
	// SoldOutTTL is how long an instance answers gate.ErrSoldOut from its cache, counted from when it asked Redis.
	SoldOutTTL = time.Second
	// ReturnDelay is how long a unit that comes back to a sold-out sale waits until it can be sold, by Redis's clock.
	// The extra hundredth covers rounding to whole milliseconds and clocks of different speed.
	ReturnDelay = SoldOutTTL + SoldOutTTL/100
)

// RoundProgress is the progress of the recovery round of a stopped sale.
type RoundProgress struct {
	Since   time.Duration // how long the sale has stood still, by Redis's clock
	Seen    Mark          // the highest mark in the reports so far
	Missing []string      // live reporters whose report is not complete
}

package order

import (
	"time"

	"seckill/internal/voucher"
)

// The types that cross between the domain and its stores. The interfaces stand beside their callers: Gate in
// admission.go; Queue, Membership, Ledger and Places in recorder.go; SaleLedger, SaleReader and SaleBuilder in
// rebuild.go, SaleRetirer in retire.go; Rows and Held in lookup.go; Vouchers in catalog.go; Locker in keeper.go.
// Those of what happens to orders after their row are in outbox.go, clerk.go, cashier.go, closer.go and storefront.go.

// SaleRef names a sale and where its keys are.
type SaleRef struct {
	VoucherID int64
	Partition int
}

// Mark is how far a sale has got: its epoch and the number of admissions in it. A Redis that answers with a lower
// mark than one seen before has lost its tail.
type Mark struct{ Epoch, Sequence int64 }

// Before reports whether m lies before o.
func (m Mark) Before(o Mark) bool {
	return m.Epoch < o.Epoch || m.Epoch == o.Epoch && m.Sequence < o.Sequence
}

// SaleMode is what Redis holds as a sale's state.
type SaleMode int8

// The modes of a sale in Redis.
const (
	SaleMissing    SaleMode = iota // Redis does not hold the sale
	SaleOpen                       // sells inside its window
	SalePaused                     // paused by an admin
	SaleOffShelf                   // taken off the shelf
	SaleRebuilding                 // being rebuilt from the ledger
)

// SaleView is what Redis said of a sale at one moment.
type SaleView struct {
	Mode    SaleMode
	Mark    Mark
	Applied int64 // number of the last operation that it contains; only SaleReader tells it
	Stock   int64 // units left to sell, returned ones that are not yet sellable included
	Buyers  int64 // users who hold a place
	Begin   time.Time
	End     time.Time // exclusive
	Now     time.Time // Redis's clock
}

// Applicant is one user in front of the gate, with the id that his order will have if he gets in.
type Applicant struct{ UserID, OrderID int64 }

// Batch is one call of the admission script: applicants for one sale.
type Batch struct {
	Sale       SaleRef
	Known      Mark  // the highest mark that the caller has seen
	MaxBacklog int64 // waiting entries in the partition's stream above which nobody is admitted
	Applicants []Applicant
}

// Verdict is the script's answer to a Batch.
type Verdict struct {
	View     SaleView
	Outcomes []Outcome // one for each applicant, in order
}

// Outcome is what the script decided for one applicant.
type Outcome struct {
	Code    OutcomeCode
	OrderID int64 // for AlreadyBought: the order that the user has
}

// OutcomeCode is the script's decision; its numbers are those in scripts/seckill.lua.
type OutcomeCode int8

// Unreadable is no decision of the script: the user's place holds something that is no order id, so that only he
// cannot be answered.
const Unreadable OutcomeCode = -1

// Doubtful is no decision of the script either: it refused a repeated call, while the first one may still arrive.
const Doubtful OutcomeCode = -2

// The decisions of scripts/seckill.lua, in the order in which it takes them.
const (
	Accepted      OutcomeCode = 0  // a unit was taken, the order is in the stream; also when this very order was before
	AlreadyBought OutcomeCode = 1  // the user has another order, OrderID
	NoSale        OutcomeCode = 2  // Redis does not hold the sale
	LostTail      OutcomeCode = 3  // Redis answers with less than the known mark
	Rebuilding    OutcomeCode = 4  // the sale is being rebuilt
	NotOnShelf    OutcomeCode = 5  // off the shelf
	Paused        OutcomeCode = 6  // paused by an admin
	NotStarted    OutcomeCode = 7  // before the window
	Ended         OutcomeCode = 8  // after the window
	SoldOut       OutcomeCode = 9  // no sellable unit
	Backlogged    OutcomeCode = 10 // too many entries wait in the stream
)

// Entry is one stream entry as read by a consumer.
type Entry struct {
	Key       string // the entry's id in the stream
	Partition int
	Claim     Claim
	Raw       map[string]string // as it stands in the stream; kept for a dead letter
	Malformed error             // why the entry cannot be decoded; Claim is then empty
}

// Return is a unit that goes back, or a place that is corrected, after an order failed to be recorded.
type Return struct {
	Sale     SaleRef
	UserID   int64
	OrderID  int64 // acts only while the user's place is held by this order
	GiveBack bool  // whether the unit goes back on sale
	Instead  int64 // the live order that the place is set to; 0 empties the place
	// Until is the sale's last operation that was known when this was decided: once Redis has applied a later one, which
	// may have given the order its place again, the decision is out of date. 0 where no operation can change it.
	Until int64
}

// LedgerView is what the ledger holds of a batch of claims, read in a transaction that has locked the sales' rows.
type LedgerView struct {
	Sales    map[int64]LedgerSale   // by voucher id; absent when there is no such sale
	Rows     map[int64]Order        // by order id: rows that have the id of a claim, whoever's they are
	Live     map[BuyerKey]int64     // the live order of each buyer in the batch
	Collided map[CollisionKey]int64 // the failed rows of claims whose id was taken
	Pending  map[int64]bool         // cancelled and refunded orders that a pending operation concerns
}

// LedgerSale is a sale's locked row.
type LedgerSale struct {
	Stock     int64
	Epoch     int64
	Operation int64 // number of its last operation
}

// CollisionKey names a claim whose id another user's order has; the view maps it to the failed row that was written
// for it before, if any.
type CollisionKey struct{ OrderID, UserID int64 }

// Decision is what becomes of one claim in the ledger.
type Decision struct {
	Claim  Claim
	Verb   Verb
	RowID  int64   // for Fail: the id of the failed row; the claim's own except after a collision
	Reason Reason  // for Fail, and for Keep when the row that is there has failed
	Detail string  // for Fail: what was found, for people
	Return *Return // what is to be corrected in Redis after the commit
	// Early says of a cancelled or refunded order that an operation which concerns it is pending: what Redis holds cannot
	// be judged before that is settled.
	Early bool
}

// freed reports whether the claim's order has been cancelled or refunded, so that one of the sale's operations gives its
// unit back and empties its place. What the place holds counts only once Redis has applied it.
func (d Decision) freed() bool { return d.Verb == Keep && d.Reason == "" && d.Return != nil }

// Verb is what a Decision does to the ledger.
type Verb int8

// The verbs of a Decision.
const (
	Keep   Verb = iota // the ledger holds the outcome already: write nothing
	Insert             // insert the order as unpaid, take a unit
	Fail               // insert a failed row, take nothing
)

// Snapshot is what the ledger holds of one sale, read in one transaction under its row's lock.
type Snapshot struct {
	Voucher   voucher.Voucher
	Operation int64           // number of the last operation, all of which the snapshot contains
	Live      map[int64]int64 // user id → live order id
	Dead      map[int64]bool  // ids of cancelled, refunded and failed orders
}

// Opening is the sale that a rebuild publishes.
type Opening struct {
	Stock     int64
	Begin     time.Time
	End       time.Time
	Mode      SaleMode // SaleOpen, SalePaused or SaleOffShelf
	Operation int64
}

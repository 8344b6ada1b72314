package order

import (
	"seckill/internal/kit/trace"
	"seckill/internal/order/reason"
)

// Entry is one order of a stream entry, as a consumer read it.
type Entry struct {
	Key       string // the entry's id in the stream; all orders of a packed entry share it and are adjacent
	Partition int
	Claim     Claim
	Trace     trace.Parent      // of the request, if it is followed
	Raw       map[string]string // the entry's fields as the stream has them; kept for a dead letter
	Malformed error             // why the entry cannot be decoded; Claim is then empty
}

// Correction removes or replaces a holder in Redis, and may give its unit back, after the ledger decided otherwise.
type Correction struct {
	Sale     SaleRef
	UserID   int64
	OrderID  int64 // the correction acts only while this order makes the user a holder
	Quantity Quantity
	GiveBack bool // whether the units go back on sale
	New      Held // the live order that becomes the holder's; if it is empty, the user is removed as a holder
	// Until is the number of the sale's last operation when this was decided. A later operation may make the user a
	// holder again, so once Redis has applied one, the correction is outdated. 0: no operation can outdate it.
	Until int64
}

// LedgerView is what the ledger holds of a batch of claims, read in a transaction that has locked the sales' rows.
type LedgerView struct {
	Sales map[int64]LedgerSale // absent when there is no such sale
	// Rows are the rows stored under the claims' row ids (Claim.RowID), of any user, by id. The reader looked
	// up each claim's row ids in turn until one was free or held the claim's own row.
	Rows    map[int64]Order
	Live    map[BuyerKey]Held // the live order of each buyer in the batch
	Pending map[int64]bool    // cancelled and refunded orders with a pending operation
}

// LedgerSale is a sale's locked row.
type LedgerSale struct {
	Stock      int64
	Epoch      int64
	FirstEpoch int64
	Operation  int64 // number of its last operation
}

// Admitted reports whether this sale admitted the claim. A claim with an epoch before the sale's first belongs to an
// older voucher with the same id, which was lost when the ledger was restored from a backup, or to a sale whose orders
// were purged (voucher.Sale.Purged). A claim of an unknown epoch (0) counts as admitted, unless the sale was purged.
func (s LedgerSale) Admitted(c Claim) bool {
	return s.Epoch > 0 && s.FirstEpoch <= s.Epoch && (c.Epoch == 0 || c.Epoch >= s.FirstEpoch)
}

// Decision says what the ledger does with one claim.
type Decision struct {
	Claim      Claim
	Verb       Verb
	RowID      int64          // of the row that exists or will be written: the order's own id, except after a collision
	Reason     reason.Failure // for Fail, and for Keep when the existing row has failed
	Detail     string         // for Fail: what the recorder found, for people
	Correction *Correction    // what to correct in Redis after the commit
	// Early: this cancelled or refunded order has a pending operation, so what Redis holds of the order proves nothing
	// until that operation is completed.
	Early bool
}

// Freed reports whether the claim's order has been cancelled or refunded. One of the sale's operations then gives the
// order's units back and removes its holder, and what Redis holds counts only after it has applied that operation.
func (d Decision) Freed() bool { return d.Verb == Keep && d.Reason == "" && d.Correction != nil }

// Verb is what a Decision does to the ledger.
type Verb int8

// The verbs of a Decision.
const (
	Keep   Verb = iota // the ledger holds the outcome already: write nothing
	Insert             // insert the order as unpaid, take its units
	Fail               // insert a failed row, take nothing
)

package order

// Entry is one order of a stream entry as read by a consumer.
type Entry struct {
	Key       string // the entry's id in the stream; the orders of a packed one have the same, and follow each other
	Partition int
	Claim     Claim
	Raw       map[string]string // as it stands in the stream; kept for a dead letter
	Malformed error             // why the entry cannot be decoded; Claim is then empty
}

// Correction removes or replaces a holder in Redis, and may give its unit back, after the ledger decided otherwise.
type Correction struct {
	Sale     SaleRef
	UserID   int64
	OrderID  int64 // it acts only while this order makes the user a holder
	Quantity Quantity
	GiveBack bool // whether the units go back on sale
	New      Held // the live order that becomes the holder's; none removes the holder
	// Until is the sale's last operation known when this was decided. Once Redis has applied a later one, which may
	// have made the order a holder again, the correction is outdated. 0 where no operation can change it.
	Until int64
}

// LedgerView is what the ledger holds of a batch of claims, read in a transaction that has locked the sales' rows.
type LedgerView struct {
	Sales map[int64]LedgerSale // absent when there is no such sale
	// By id: rows of any user that have one of a claim's row ids, up to the first that is free or the claim's
	// (Claim.RowID).
	Rows    map[int64]Order
	Live    map[BuyerKey]Held // the live order of each buyer in the batch
	Pending map[int64]bool    // cancelled and refunded orders that a pending operation concerns
}

// LedgerSale is a sale's locked row.
type LedgerSale struct {
	Stock     int64
	Epoch     int64
	Operation int64 // number of its last operation
}

// Decision is what becomes of one claim in the ledger.
type Decision struct {
	Claim      Claim
	Verb       Verb
	RowID      int64       // of the row that is there or is written; the order's own except after a collision
	Reason     Reason      // for Fail, and for Keep when the row that is there has failed
	Detail     string      // for Fail: what was found, for people
	Correction *Correction // what is to be corrected in Redis after the commit
	// Early: a pending operation concerns this cancelled or refunded order, so what Redis holds of it says nothing
	// before that operation is completed.
	Early bool
}

// Freed reports whether the claim's order has been cancelled or refunded, so that one of the sale's operations gives
// its unit back and removes its holder. What Redis holds counts only once it has applied that operation.
func (d Decision) Freed() bool { return d.Verb == Keep && d.Reason == "" && d.Correction != nil }

// Verb is what a Decision does to the ledger.
type Verb int8

// The verbs of a Decision.
const (
	Keep   Verb = iota // the ledger holds the outcome already: write nothing
	Insert             // insert the order as unpaid, take its units
	Fail               // insert a failed row, take nothing
)

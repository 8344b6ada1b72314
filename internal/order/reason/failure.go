package reason

// Failure says why an accepted order could not be recorded. It is stored with the failed row.
type Failure string

// The reasons for a failed order.
const (
	// NoStock: the ledger had no unit left for the order. Redis gets no unit back, as it sold one that did not exist.
	NoStock Failure = "NO_STOCK"
	// DuplicateBuyer: the ledger held another live order of the user for the voucher.
	DuplicateBuyer Failure = "DUPLICATE_BUYER"
	// IDCollision: another order already had this id; this row has a different one (order.Claim's RowID).
	IDCollision Failure = "ID_COLLISION"
	// RejectedByLedger: the ledger refused the row for good.
	RejectedByLedger Failure = "REJECTED"
	// UnknownVoucher: the ledger has no sale of the order's voucher.
	UnknownVoucher Failure = "UNKNOWN_VOUCHER"
	// Discarded: the order's entry became a dead letter, and an operator discarded it.
	Discarded Failure = "DISCARDED"
)

// GivesUnitBack reports whether Redis puts the unit of an order that failed for this reason back on sale. It must not
// after NoStock: the ledger does not have that unit.
func (f Failure) GivesUnitBack() bool {
	return f == DuplicateBuyer || f == IDCollision || f == RejectedByLedger || f == Discarded
}

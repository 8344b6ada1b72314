package order

import "time"

// LedgerTail is what decides whether a ledger has lost operations of a sale that Redis has applied.
type LedgerTail struct {
	Last    OperationRef // its last operation
	Applied OperationRef // its operation with the number of the last that Redis has applied; zero: none
	Decided Decided      // its operation with the number of the last decision that Redis has applied; zero: none
	Pending bool         // an operation waits to be applied or completed
	Mode    SaleMode
	Begin   time.Time
	End     time.Time
}

// Lost reports whether the ledger has lost operations that this view of the sale has: its database was restored, or
// another server that lagged behind took over. A higher number proves that, or one number with two identities. Where an
// identity is not known, equal numbers with nothing pending and another mode or window do.
func (v SaleView) Lost(t LedgerTail) bool {
	switch {
	case v.Applied > t.Last.Number, v.LastApplied().Contradicts(t.Applied):
		return true
	case v.AppliedIdentity != 0 && t.Applied.Identity != 0:
		return false
	default:
		return v.Applied > 0 && v.Applied == t.Last.Number && !t.Pending && v.unlike(t)
	}
}

// LostDecision reports whether a decision of a person is among the lost operations: the last one that Redis has applied
// is not in the ledger or, where it is not known, Redis has another mode or window than the ledger.
func (v SaleView) LostDecision(t LedgerTail) bool {
	switch {
	case !v.Lost(t):
		return false
	case v.Decided.Kind == NoDecision:
		return false
	case v.Decided.Number == 0:
		return v.unlike(t)
	default:
		return v.Decided != t.Decided
	}
}

// unlike reports whether the ledger has another mode or window than this view. The mode of a stopped sale is not known.
func (v SaleView) unlike(t LedgerTail) bool {
	known := v.Mode != SaleMissing && v.Mode != SaleRebuilding
	return known && v.Mode != t.Mode || v.Mode != SaleMissing && (!v.Begin.Equal(t.Begin) || !v.End.Equal(t.End))
}

// Raised is the epoch of a rebuild that begins.
type Raised struct {
	Epoch int64
	// Lost reports whether the ledger has lost operations of the sale that Redis has applied, and Decision whether a
	// decision of a person is among them: then Paused says whether the sale was paused for it.
	Lost, Decision, Paused bool
}

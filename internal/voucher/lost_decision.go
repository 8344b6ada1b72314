package voucher

import (
	"strconv"
	"time"
)

// LostDecision says that Redis had applied a decision of a person to a sale, and that the ledger does not have it: the
// database was restored, or another server that lagged behind took over. Neither side is taken for right; a person
// decides anew.
type LostDecision struct {
	VoucherID     int64
	At            time.Time // when it was found
	Paused        bool      // the sale was paused for it; otherwise it could not sell anyway
	Kind          string    // of the decision, a word of tb_voucher_operation.kind; "" if it is not known
	Redis, Ledger SaleSide
}

// SaleSide is what one store had of a sale.
type SaleSide struct {
	Operation int64  // the number of the last one
	Mode      string // "" if it is not known
	Begin     time.Time
	End       time.Time
	Stock     int64
}

// Changes lists what the stores had, for the audit trail: from what Redis had to what the ledger has.
func (l LostDecision) Changes() []FieldChange {
	changes := []FieldChange{
		{"operation", positive(l.Redis.Operation), positive(l.Ledger.Operation)},
		{"saleState", l.Redis.Mode, l.Ledger.Mode},
		{"beginTime", written(l.Redis.Begin), written(l.Ledger.Begin)},
		{"endTime", written(l.Redis.End), written(l.Ledger.End)},
		{"stock", strconv.FormatInt(l.Redis.Stock, 10), strconv.FormatInt(l.Ledger.Stock, 10)},
	}
	if l.Paused {
		changes = append(changes, FieldChange{"paused", "", "true"})
	}
	return changes
}

package recovery

import (
	"slices"

	"seckill/internal/order"
)

// unaccounted counts the admissions whose orders are unknown. Their sequences lie between the mark that Redis or the
// ledger has reached and the highest mark of any report, operation or entry. It subtracts the sequences in between that
// belong to reported claims, waiting claims, and operations that made a holder. A void operation may have been admitted
// or not, so for each of these one lost admission counts as doubtful. Both counts are 0 if neither Redis nor the ledger
// has the highest mark's epoch: they cannot be determined then.
func (in *rebuildInput) unaccounted() (lost, doubtful int64) {
	seen := in.highest()
	reached := int64(-1)
	for _, m := range in.reached {
		if seen.Before(m) {
			return 0, 0
		}
		if m.Epoch == seen.Epoch {
			reached = max(reached, m.Sequence)
		}
	}
	if reached < 0 || seen.Epoch < in.ledger.Voucher.Sale.FirstEpoch {
		return 0, 0
	}
	known := make(map[int64]bool) // sequences, each of one admission
	for _, m := range in.marks() {
		if m.Epoch == seen.Epoch && m.Sequence > reached {
			known[m.Sequence] = true
		}
	}
	lost = max(0, seen.Sequence-reached-int64(len(known)+in.withoutSequence(seen.Epoch)))
	doubtful = min(lost, in.ledger.Void)
	return lost - doubtful, doubtful
}

// marks returns the marks of all known admissions, some of them perhaps several times.
func (in *rebuildInput) marks() []order.Mark {
	marks := slices.Clone(in.ledger.Admitted)
	for _, claims := range [][]order.Claim{in.reported, in.waiting} {
		for _, c := range claims {
			marks = append(marks, order.Mark{Epoch: c.Epoch, Sequence: c.Sequence})
		}
	}
	return marks
}

// highest returns the highest mark that anybody has seen.
func (in *rebuildInput) highest() order.Mark {
	highest := in.seen
	for _, m := range in.marks() {
		if highest.Before(m) {
			highest = m
		}
	}
	return highest
}

// withoutSequence counts the reported orders of an epoch that have no sequence and no waiting entry.
func (in *rebuildInput) withoutSequence(epoch int64) int {
	orders := make(map[int64]bool)
	for _, c := range in.reported {
		if c.Epoch == epoch && c.Sequence == 0 {
			orders[c.OrderID] = true
		}
	}
	for _, c := range in.waiting {
		delete(orders, c.OrderID)
	}
	return len(orders)
}

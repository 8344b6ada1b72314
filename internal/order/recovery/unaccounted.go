package recovery

import (
	"slices"

	"seckill/internal/order"
)

// unaccounted counts the admissions whose orders nobody can name. They lie between the mark that Redis or the ledger
// has reached and the highest mark that a report, an operation or an entry has. Of that stretch, reported claims,
// waiting claims and operations that made a holder are known, and subtracted by their sequence. A void operation may
// have been admitted or not: as many of the lost admissions are doubtful. Both are 0 if neither Redis nor the ledger
// has the highest mark's epoch, as the count is unknown then.
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

// marks returns the marks of the admissions that can be named, one several times perhaps.
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

// withoutSequence counts the reported orders of an epoch whose sequence nobody knows.
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

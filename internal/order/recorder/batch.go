package recorder

import (
	"slices"

	"seckill/internal/order"
)

// batch is a group of entries on their way through the Recorder: fetched, then committed, then finished. One stage has
// it at a time. Orders that share a stream entry are always in the same batch.
type batch struct {
	claimed    []order.Entry // those that can be decoded, in stream order
	unreadable []order.Entry // those that cannot

	// The committer fills these in for the finisher.
	settled     []order.Entry      // the ledger has their outcome
	corrections []order.Correction // where Redis differs from the ledger
	freed       []order.Claim      // of cancelled and refunded orders (order.Decision.Freed)

	committed chan struct{} // closed once the ledger has the batch, or the committer has given up on it
	finished  chan struct{} // closed once no stage has the batch
}

// newBatch returns the entries as a batch, which keeps them.
func newBatch(entries []order.Entry) *batch {
	b := &batch{claimed: entries, committed: make(chan struct{}), finished: make(chan struct{})}
	if slices.ContainsFunc(entries, isMalformed) {
		b.unreadable = slices.DeleteFunc(slices.Clone(entries), func(e order.Entry) bool { return !isMalformed(e) })
		b.claimed = slices.DeleteFunc(slices.Clone(entries), isMalformed)
	}
	return b
}

func isMalformed(e order.Entry) bool { return e.Malformed != nil }

// split divides the entries into parts of the given number of orders. A part has more if entries with the same key
// would otherwise be divided.
func split(entries []order.Entry, most int) (parts [][]order.Entry) {
	for len(entries) > 0 {
		n := min(most, len(entries))
		for n < len(entries) && entries[n].Key == entries[n-1].Key {
			n++
		}
		parts, entries = append(parts, entries[:n]), entries[n:]
	}
	return parts
}

// done returns the keys of the entries that can leave the stream: those whose orders are all settled, with none in
// left. All orders of any other entry are delivered again; those that have rows are then found recorded.
func (b *batch) done(left map[int64]bool) []string {
	keys, settled := make([]string, 0, len(b.claimed)), make(map[string]int)
	for _, e := range b.settled {
		if !left[e.Claim.OrderID] {
			settled[e.Key]++
		}
	}
	for _, e := range b.claimed {
		settled[e.Key]--
		keys = append(keys, e.Key)
	}
	return slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return settled[key] < 0 })
}

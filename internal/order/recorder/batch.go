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

func newBatch(entries []order.Entry) *batch {
	b := &batch{
		claimed: make([]order.Entry, 0, len(entries)), committed: make(chan struct{}), finished: make(chan struct{}),
	}
	for _, e := range entries {
		if e.Malformed == nil {
			b.claimed = append(b.claimed, e)
		} else {
			b.unreadable = append(b.unreadable, e)
		}
	}
	return b
}

// split divides the entries into parts that have at most the given number of orders. Entries with the same key stay
// together, even if a part then has more.
func split(entries []order.Entry, most int) [][]order.Entry {
	var parts [][]order.Entry
	for len(entries) > most {
		n := most
		for n > 0 && entries[n-1].Key == entries[n].Key {
			n--
		}
		if n == 0 { // the entries of the first key alone are too many
			for n = most; n < len(entries) && entries[n].Key == entries[0].Key; {
				n++
			}
		}
		parts, entries = append(parts, entries[:n]), entries[n:]
	}
	if len(entries) > 0 {
		parts = append(parts, entries)
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

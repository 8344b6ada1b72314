package recorder

import (
	"slices"

	"seckill/internal/order"
)

// batch is entries on their way through the Recorder: fetched, then committed, then finished. One stage has it at a
// time. It has all orders of each of its entries of the stream.
type batch struct {
	claimed    []order.Entry // those that can be decoded, in stream order
	unreadable []order.Entry // the others

	// From the committer, for the finisher.
	settled     []order.Entry      // whose outcome the ledger has
	corrections []order.Correction // where Redis differs from the ledger
	freed       []order.Claim      // of cancelled and refunded orders (Decision.freed)

	committed chan struct{} // closed once the ledger has it, or has been tried for long enough
	finished  chan struct{} // closed once no stage has it
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

// split returns the entries in parts of at most so many, none of which has only some of those that share a key: more,
// where as many do.
func split(entries []order.Entry, most int) [][]order.Entry {
	var parts [][]order.Entry
	for len(entries) > most {
		n := most
		for n > 0 && entries[n-1].Key == entries[n].Key {
			n--
		}
		if n == 0 { // the first ones alone are too many
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

// done returns the keys of the entries that can leave the stream: those of which all orders are settled, and none is
// in left. Otherwise all orders of an entry are delivered again: those that have their rows are found recorded.
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

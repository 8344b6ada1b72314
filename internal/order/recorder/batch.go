package recorder

import (
	"slices"

	"seckill/internal/order"
)

// batch is entries on their way through the Recorder: fetched, then committed, then finished. One stage has it at a time. It
// has all orders of each of its entries of the stream.
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
	b := &batch{claimed: make([]order.Entry, 0, len(entries)), committed: make(chan struct{}), finished: make(chan struct{})}
	for _, e := range entries {
		if e.Malformed == nil {
			b.claimed = append(b.claimed, e)
		} else {
			b.unreadable = append(b.unreadable, e)
		}
	}
	return b
}

// split returns the entries in parts of at most so many, none of which has only some of those that share a key: more, where as
// many do.
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

// done returns what can leave the stream: the keys of which all orders are settled, except those in left, and what becomes a
// dead letter. What shares a key with an order that is not settled is delivered again with it, and comes to the same end.
func (b *batch) done(left map[int64]bool) (keys []string, unreadable []order.Entry) {
	if len(left) == 0 && len(b.unreadable) == 0 && len(b.settled) == len(b.claimed) {
		for _, e := range b.claimed {
			keys = append(keys, e.Key)
		}
		return slices.Compact(keys), nil
	}
	settled := make(map[int64]bool, len(b.settled))
	for _, e := range b.settled {
		settled[e.Claim.OrderID] = !left[e.Claim.OrderID]
	}
	waits, moves := make(map[string]bool), make(map[string]bool, len(b.unreadable))
	for _, e := range b.claimed {
		if !settled[e.Claim.OrderID] {
			waits[e.Key] = true
		}
	}
	for _, e := range b.unreadable {
		moves[e.Key] = true // which acknowledges it
		if !waits[e.Key] {
			unreadable = append(unreadable, e)
		}
	}
	for _, e := range b.claimed {
		if !waits[e.Key] && !moves[e.Key] {
			keys = append(keys, e.Key)
		}
	}
	return slices.Compact(keys), unreadable
}

package recorder

import "seckill/internal/order"

// batch is entries on their way through the Recorder: fetched, then committed, then finished. One stage has it at a time.
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

package order

// batch is entries on their way through the Recorder: read, then committed, then finished. One hand has it at a time.
type batch struct {
	claimed    []Entry // those that can be decoded, in stream order
	unreadable []Entry // the others

	// What the committer leaves to the finisher.
	settled []Entry  // whose outcome the ledger has
	returns []Return // what Redis has otherwise
	freed   []Claim  // of cancelled and refunded orders (Decision.freed)

	committed chan struct{} // closed once the ledger has it, or had it for long enough
	finished  chan struct{} // closed once it is in nobody's hand
}

func newBatch(entries []Entry) *batch {
	b := &batch{claimed: make([]Entry, 0, len(entries)), committed: make(chan struct{}), finished: make(chan struct{})}
	for _, e := range entries {
		if e.Malformed == nil {
			b.claimed = append(b.claimed, e)
		} else {
			b.unreadable = append(b.unreadable, e)
		}
	}
	return b
}

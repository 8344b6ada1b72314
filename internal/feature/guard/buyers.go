package guard

import "sync"

// maxBuyers bounds each generation of buyers.
const maxBuyers = 1 << 16

// buyers remembers whose units were counted lately in sales with guards, each with the id of the last order that
// counted: 131,072 users at most, in about 10 MB. They may have cancelled the order since.
type buyers struct {
	mu         sync.Mutex
	young, old map[buyer]int64
}

type buyer struct{ sale, user int64 }

func newBuyers() *buyers { return &buyers{young: make(map[buyer]int64)} }

// add remembers that an id counts for a user. It reports whether it did not count before. The id 0 counts always.
func (b *buyers) add(saleID, userID, id int64) bool {
	k := buyer{saleID, userID}
	b.mu.Lock()
	defer b.mu.Unlock()
	last, known := b.last(k)
	if known && last == id && id != 0 {
		return false
	}
	if _, young := b.young[k]; !young && len(b.young) >= maxBuyers {
		b.old, b.young = b.young, make(map[buyer]int64)
	}
	b.young[k] = id
	return true
}

// has reports whether the user is remembered.
func (b *buyers) has(saleID, userID int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.last(buyer{saleID, userID})
	return known
}

func (b *buyers) last(k buyer) (id int64, known bool) {
	if id, known = b.young[k]; !known {
		id, known = b.old[k]
	}
	return id, known
}

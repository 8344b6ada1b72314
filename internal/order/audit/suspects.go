package audit

import (
	"sync"

	"seckill/internal/voucher"
)

// Suspects is the set of sales whose units did not add up at a glance. The sweeps of each instance add them for that
// instance's Auditor, which checks them before all other sales while it has the lock. A set has each sale once, so it
// never has more entries than there are sales.
type Suspects struct {
	wake chan struct{} // gets a value when a sale is added

	mu    sync.Mutex
	sales map[int64]bool
}

// NewSuspects returns an empty Suspects.
func NewSuspects() *Suspects {
	return &Suspects{wake: make(chan struct{}, 1), sales: make(map[int64]bool)}
}

// Suspect asks for the sale to be checked soon. It does not block.
func (s *Suspects) Suspect(sale int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sales[sale] = true
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns the given sales that are suspects, and empties the set. The next sweep adds the sales that still do not
// add up.
func (s *Suspects) take(vs []voucher.Voucher) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken []int64
	for _, v := range vs {
		if sale := v.ID; s.sales[sale] {
			taken = append(taken, sale)
		}
	}
	clear(s.sales)
	return taken
}

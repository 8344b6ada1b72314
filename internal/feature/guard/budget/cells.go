package budget

import (
	"hash/maphash"
	"sync"
	"time"

	"seckill/internal/voucher/guards"
)

const (
	tableSets = 1 << 15
	setCells  = 8
	// mostOwed bounds a budget's debt, as the time to pay it off: far above any limit, and far below what a duration
	// holds.
	mostOwed = (guards.MaxShare + 1000) * unitTime
	// Budgets is how many budgets a table can remember: 9 MB, however many addresses call.
	Budgets = tableSets * setCells
)

// budgetKey names a budget: the sale, and the user, address or network.
type budgetKey struct {
	sale int64
	who  uint64
	kind kind
}

// cells is a fixed number of budgets, by the generic cell rate algorithm (ITU-T I.371, annex A): the state of a
// budget is the time at which it will be full again, and a full budget needs no state.
//
// A key has its place in one set of eight cells, chosen by a hash with a random seed, so nobody can aim at a set.
// Where all eight are taken, the newcomer gets the cell that will be full soonest: the key that owes least is
// forgotten, and so has a full budget. So a flood of addresses that ask once each drives out others that asked
// once, and never those who ask all the time. golang.org/x/time/rate has an object for each key, in a map that grows
// with the addresses, or needs a sweeper and forgets by age; the map of two generations that bounds a user's requests
// to the whole service (internal/httpapi) forgets the keys that it saw first, heavy callers' too.
type cells struct {
	seed    maphash.Seed
	started time.Time // an hour before the cells were made: other instances publish spending from before that
	sets    []budgetSet
}

type budgetSet struct {
	mu    sync.Mutex
	cells [setCells]budget
}

// budget is the state of one key. A cell without a key is free. The parts of the key are separate fields because untold
// fits between them: 32 bytes in all.
type budget struct {
	sale int64
	who  uint64
	full time.Duration // when it will be full, since started; a time in the past: it is full
	// untold is how many requests are not yet published to other instances, even if the budget has regained them.
	untold  uint32
	kind    kind
	telling bool // an eighth of the budget was spent, so each request is published
}

func newCells(now time.Time) *cells {
	return &cells{seed: maphash.MakeSeed(), started: now.Add(-time.Hour), sets: make([]budgetSet, tableSets)}
}

// tokenTime is how long a budget takes to regain one request.
func tokenTime(r *guards.Rate) time.Duration {
	return time.Duration(r.Seconds) * time.Second / time.Duration(r.Requests)
}

// size is how much a full budget holds, and how long it takes to regain one request or unit.
type size struct {
	most  int64
	token time.Duration
}

func sizeOf(r *guards.Rate) size { return size{most: r.Requests, token: tokenTime(r)} }

// owe takes n from a budget. It returns how many the budget is below full, or how long the caller has to wait until n
// are available. It adds to the spending, which may be nil, the requests that other instances have to know.
func (t *cells) owe(k budgetKey, z size, n int64, now time.Time, tell *spending) (owed int64, wait time.Duration) {
	at := now.Sub(t.started)
	s, b := t.open(k)
	defer s.mu.Unlock()
	full := max(b.full, at) + z.token*time.Duration(n)
	if over := full - at - z.token*time.Duration(z.most); over > 0 {
		most := max(z.token*time.Duration(z.most), leastDebt) // the publications of others may be nonsense
		b.full -= max(0, over-most)
		return z.most, min(over, most)
	}
	b.full = full
	if tell != nil {
		b.tell(z, n, tell)
	}
	return int64((full - at + z.token - 1) / z.token), 0
}

// take takes n from a budget. If it holds less, take takes nothing, and returns by how much time it falls short.
func (t *cells) take(k budgetKey, z size, n int64, now time.Time) (short time.Duration) {
	at := now.Sub(t.started)
	s, b := t.open(k)
	defer s.mu.Unlock()
	full := max(b.full, at) + z.token*time.Duration(n)
	if short = full - at - z.token*time.Duration(z.most); short > 0 {
		return short
	}
	b.full = full
	return 0
}

// put takes n from a budget even if it holds less; a negative n is put back into it.
func (t *cells) put(k budgetKey, z size, n int64, now time.Time) {
	at := now.Sub(t.started)
	s, b := t.open(k)
	defer s.mu.Unlock()
	if n > 0 {
		b.full = max(b.full, at)
	}
	b.full = min(max(0, b.full+z.token*time.Duration(n)), mostOwed)
}

// tell adds to the spending n that were taken from a budget before.
func (t *cells) tell(k budgetKey, z size, n int64, tell *spending) {
	s, b := t.open(k)
	defer s.mu.Unlock()
	b.tell(z, n, tell)
}

// tell adds n requests to the spending: none until an eighth of the budget was spent, however slowly, because a caller
// at exactly the limit's rate owes one request at most on each instance. Requests without room are added with the
// caller's next request; those beyond an eighth of the budget are dropped.
func (b *budget) tell(z size, n int64, s *spending) {
	eighth := uint32((z.most + tellFrom - 1) / tellFrom)
	b.untold = min(b.untold+uint32(n), max(eighth, uint32(n)))
	b.telling = b.telling || b.untold >= eighth
	if b.telling && s.add(b.key(), time.Duration(b.untold)*z.token) {
		b.untold = 0
	}
}

// charge takes from a budget an amount that was spent on another instance at a time. The budget may go into debt, up
// to mostOwed.
func (t *cells) charge(k budgetKey, spent time.Duration, at time.Time) {
	s, b := t.open(k)
	defer s.mu.Unlock()
	b.full = min(max(b.full, at.Sub(t.started))+spent, mostOwed)
}

// open returns the key's set, locked, and its cell.
func (t *cells) open(k budgetKey) (*budgetSet, *budget) {
	s := &t.sets[maphash.Comparable(t.seed, k)%tableSets]
	s.mu.Lock()
	b := s.find(k)
	return s, b
}

// find returns the key's cell, or gives the key the cell that will be full soonest.
func (s *budgetSet) find(k budgetKey) *budget {
	least := &s.cells[0]
	for i := range s.cells {
		b := &s.cells[i]
		if b.key() == k {
			return b
		}
		if b.full < least.full {
			least = b
		}
	}
	*least = budget{sale: k.sale, who: k.who, kind: k.kind}
	return least
}

func (b *budget) key() budgetKey { return budgetKey{b.sale, b.who, b.kind} }

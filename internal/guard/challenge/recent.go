package challenge

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// window is for how long what somebody asked counts, at least; at most twice as long.
	window = time.Minute
	// cells is how many counters a generation has: two of them with 4 bytes each make half a mebibyte, however many ask.
	cells = 1 << 16

	accountFree     = 2  // challenges of an account in the window that cost no more than the first
	networkCrowd    = 64 // accounts of a network that cost no more than one: people behind one address
	networkPerCrowd = 8  // by how many tries each further crowd raises the difficulty
)

// recent counts what accounts and networks asked lately, in two generations of counters that hashes choose. It is bounded and
// keyed: two that share a counter have a harder challenge, and nobody can choose with whom they share.
type recent struct {
	now  func() time.Time
	seed maphash.Seed

	mu             sync.RWMutex
	turned         time.Time
	before, latest *[cells]atomic.Uint32
}

func newRecent(now func() time.Time) *recent {
	return &recent{
		now: now, seed: maphash.MakeSeed(), turned: now(),
		before: new([cells]atomic.Uint32), latest: new([cells]atomic.Uint32),
	}
}

// difficulty counts an ask, and returns how many tries the challenge may take: easiest without other asks lately, hardest at
// most.
func (r *recent) difficulty(who Caller, easiest, hardest int) int {
	hardest = min(max(hardest, MinDifficulty), MaxDifficulty)
	easiest = min(max(easiest, MinDifficulty), hardest)
	type account struct{ sale, user int64 }
	byAccount := r.count(maphash.Comparable(r.seed, account{who.SaleID, who.UserID}))
	byNetwork := r.count(maphash.Comparable(r.seed, Network(who.Address)))
	tries := easiest
	if byAccount > accountFree {
		tries += easiest * int(byAccount-accountFree)
	}
	tries += networkPerCrowd * int(byNetwork/networkCrowd)
	return min(tries, hardest)
}

// count adds one to a counter, and returns how much it was asked in the window. It stops counting far beyond what matters.
func (r *recent) count(hash uint64) uint32 {
	const enough = 1 << 20
	r.turn()
	r.mu.RLock()
	defer r.mu.RUnlock()
	cell := hash % cells
	asked := r.latest[cell].Load()
	if asked < enough {
		asked = r.latest[cell].Add(1)
	}
	return asked + r.before[cell].Load()
}

// turn begins a generation once the last one is a window old.
func (r *recent) turn() {
	now := r.now()
	r.mu.RLock()
	due := now.Sub(r.turned) >= window
	r.mu.RUnlock()
	if !due {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	since := now.Sub(r.turned)
	if since < window {
		return
	}
	r.before, r.latest, r.turned = r.latest, new([cells]atomic.Uint32), now
	if since >= 2*window {
		r.before = new([cells]atomic.Uint32)
	}
}

package admission

import (
	"sync"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

const (
	// recentAge is how long an accepted order is kept. Redis loses a second or two with its tail; the rest of the
	// minute covers orders that waited in the stream because the ledger was away.
	recentAge = time.Minute
	// recentMax caps the orders kept: 56 bytes each, 14.7 MB in all, reached only if that many are accepted within
	// recentAge.
	recentMax = 1 << 18
	// recentStart is the capacity at first.
	recentStart = 1 << 10
)

// recentAccepts remembers this instance's recently accepted orders: the order, its user, and its number in the sale's
// sequence. If Redis loses an order before the ledger has it, recovery.Reporter brings it back from here. It is a ring
// that grows when it must; apart from that, writing into it allocates nothing.
type recentAccepts struct {
	start time.Time

	mu    sync.Mutex
	ring  []accept
	first int // index of the oldest
	n     int
}

// accept is one accepted order.
type accept struct {
	claim order.Claim
	at    time.Duration // since recentAccepts.start
}

func newRecentAccepts() *recentAccepts {
	return &recentAccepts{start: time.Now(), ring: make([]accept, recentStart)}
}

// write remembers the accepted orders of a batch; accepted is how many there are. If the batch was sent twice, nobody
// knows which call accepted which order, so Sequence stays 0.
func (r *recentAccepts) write(b *gate.Batch, v *gate.BatchResult, accepted int64, twice bool) {
	sequence, step := v.View.Mark.Sequence-accepted, int64(1)
	if twice {
		sequence, step = 0, 0
	}
	at := time.Since(r.start)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range v.Results {
		if v.Results[i].Outcome != gate.Accepted {
			continue
		}
		if r.n == len(r.ring) {
			r.makeRoom(at)
		}
		sequence += step
		r.ring[(r.first+r.n)%len(r.ring)] = accept{at: at, claim: order.Claim{
			OrderID: b.Requests[i].OrderID, UserID: b.Requests[i].UserID, VoucherID: b.Sale.VoucherID,
			Epoch: v.View.Mark.Epoch, Sequence: sequence, Quantity: b.Requests[i].Quantity,
		}}
		r.n++
	}
}

// makeRoom grows the full ring if its oldest order is younger than recentAge and recentMax allows. Otherwise it drops
// the oldest.
func (r *recentAccepts) makeRoom(now time.Duration) {
	if r.n >= recentMax || now-r.ring[r.first].at >= recentAge {
		r.first = (r.first + 1) % len(r.ring)
		r.n--
		return
	}
	grown := make([]accept, 2*len(r.ring))
	copy(grown[copy(grown, r.ring[r.first:]):], r.ring[:r.first])
	r.ring, r.first = grown, 0
}

// of returns the remembered orders of the sales, oldest first. It drops none for its age: the process may have been
// suspended. It scans the ring once for all sales, because admissions wait meanwhile.
func (r *recentAccepts) of(sales ...int64) map[int64][]order.Claim {
	claims := make(map[int64][]order.Claim, len(sales))
	for _, id := range sales {
		claims[id] = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.n {
		a := &r.ring[(r.first+i)%len(r.ring)]
		if known, asked := claims[a.claim.VoucherID]; asked {
			claims[a.claim.VoucherID] = append(known, a.claim)
		}
	}
	return claims
}

package admission

import (
	"sync"
	"time"

	"seckill/internal/order"
)

const (
	// recentAge is for how long an accepted order is remembered. Redis loses a second or two with its tail; what is
	// remembered beyond that is for orders that waited in it because the ledger was away.
	recentAge = time.Minute
	// recentMax is how many are remembered at most: 56 bytes each, 14.7 MB in all, and only once so many are accepted
	// within recentAge.
	recentMax = 1 << 18
	// recentStart is how many there is room for at first.
	recentStart = 1 << 10
)

// recentAccepts is what this instance has accepted lately: which order of which user, and its place in the sale's
// sequence. Should Redis lose it before the ledger has it, it is known from here (recovery.Reporter). It is a ring
// that grows when it has to; writing into it allocates nothing else.
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

// write remembers who was accepted in a batch. For a batch that was sent twice it is not known which call accepted
// whom; the sequence stays 0 then.
func (r *recentAccepts) write(b order.Batch, v order.BatchResult, twice bool) {
	accepted := int64(0)
	for _, o := range v.Results {
		if o.Outcome == order.Accepted {
			accepted++
		}
	}
	if accepted == 0 {
		return
	}
	sequence, step := v.View.Mark.Sequence-accepted, int64(1)
	if twice {
		sequence, step = 0, 0
	}
	at := time.Since(r.start)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range v.Results {
		if o.Outcome != order.Accepted {
			continue
		}
		sequence += step
		r.add(accept{at: at, claim: order.Claim{
			OrderID: b.Requests[i].OrderID, UserID: b.Requests[i].UserID, VoucherID: b.Sale.VoucherID,
			Epoch: v.View.Mark.Epoch, Sequence: sequence, Quantity: b.Requests[i].Quantity,
		}})
	}
}

// add appends an order. When there is no room, the oldest goes, unless it is young and there may be more.
func (r *recentAccepts) add(a accept) {
	if r.n == len(r.ring) {
		if r.n < recentMax && a.at-r.ring[r.first].at < recentAge {
			grown := make([]accept, 2*len(r.ring))
			copy(grown[copy(grown, r.ring[r.first:]):], r.ring[:r.first])
			r.ring, r.first = grown, 0
		} else {
			r.first = (r.first + 1) % len(r.ring)
			r.n--
		}
	}
	r.ring[(r.first+r.n)%len(r.ring)] = a
	r.n++
}

// of returns what is remembered of sales, oldest first, however old: a process may have stood still. It looks through
// everything once, however many sales are asked for, as admissions wait meanwhile.
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

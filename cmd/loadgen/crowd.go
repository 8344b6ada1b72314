package main

import (
	"container/heap"
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"seckill/internal/httpload"
)

// errand is one request that a buyer is to send.
type errand struct {
	due     time.Time
	buyer   uint32
	attempt uint16 // 0 is the first press
	look    bool   // he looks at the voucher first
}

// errands are those that are due later, the next first.
type errands []errand

// Len is heap.Interface's.
func (e *errands) Len() int { return len(*e) }

// Less is heap.Interface's.
func (e *errands) Less(i, j int) bool { return (*e)[i].due.Before((*e)[j].due) }

// Swap is heap.Interface's.
func (e *errands) Swap(i, j int) { (*e)[i], (*e)[j] = (*e)[j], (*e)[i] }

// Push is heap.Interface's.
func (e *errands) Push(x any) { *e = append(*e, x.(errand)) } // only errands are pushed

// Pop is heap.Interface's.
func (e *errands) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

// crowd is the buyers, and the connections over which they talk.
type crowd struct {
	plan   *plan
	path   string // where to buy
	page   string // where to look
	record *record
	began  time.Time

	ready    chan errand
	inFlight atomic.Int64
	arrived  atomic.Int64

	mu    sync.Mutex
	later errands
	open  int           // buyers who arrived and are not done
	wake  chan struct{} // something changed for whoever waits for the next errand
}

func newCrowd(p *plan, voucher int64, r *record) *crowd {
	id := strconv.FormatInt(voucher, 10)
	c := &crowd{
		plan: p, path: "/voucher/seckill/" + id, page: "/voucher/" + id, record: r, began: r.began,
		ready: make(chan errand, p.connections), wake: make(chan struct{}, 1),
	}
	if p.wait > 0 {
		c.path += "?wait=" + p.wait.String()
	}
	return c
}

// rush lets the buyers come and returns when each of them is done, or when ctx has ended and what was under way has been
// answered.
func (c *crowd) rush(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range c.plan.connections {
		wg.Go(func() { c.talk(ctx, i) })
	}
	c.call(ctx)
	close(c.ready)
	wg.Wait()
}

// call hands out errands when they are due.
func (c *crowd) call(ctx context.Context) {
	for {
		e, found := c.next()
		if !found {
			return
		}
		if wait := time.Until(e.due); wait > 0 {
			select {
			case <-ctx.Done():
				return
			case <-c.wake: // something may be due earlier
				c.putBack(e)
				continue
			case <-time.After(wait):
			}
		}
		select {
		case <-ctx.Done():
			return
		case c.ready <- e:
		}
	}
}

// next takes the errand that is due first: an arrival or one of those who come again. Where there is none, but somebody
// may still come again, it is one that nobody waits for to the end. found is false when everybody is done.
func (c *crowd) next() (e errand, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := int(c.arrived.Load())
	arrives := i < c.plan.buyers
	if arrives {
		e = errand{
			due:   c.began.Add(c.plan.curve.arrival(i, c.plan.buyers, c.plan.seed)),
			buyer: uint32(i), look: c.plan.think > 0, // at most 100,000,000 buyers
		}
	}
	if len(c.later) > 0 && (!arrives || c.later[0].due.Before(e.due)) {
		return heap.Pop(&c.later).(errand), true // only errands are pushed
	}
	if arrives {
		c.arrived.Add(1)
		c.open++
		return e, true
	}
	if c.open > 0 {
		return errand{due: time.Now().Add(time.Hour), buyer: math.MaxUint32}, true
	}
	return e, false
}

// putBack returns an errand that was taken too early.
func (c *crowd) putBack(e errand) {
	if e.buyer == math.MaxUint32 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	heap.Push(&c.later, e)
}

// done notes that a buyer needs nothing any more, or comes again.
func (c *crowd) done(again *errand) {
	c.mu.Lock()
	if again != nil {
		heap.Push(&c.later, *again)
	} else {
		c.open--
	}
	news := again != nil || c.open == 0
	c.mu.Unlock()
	if !news {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default: // it is awake already
	}
}

// talk serves errands over one connection until there are no more.
func (c *crowd) talk(ctx context.Context, i int) {
	conn, err := httpload.New(c.plan.servers[i%len(c.plan.servers)], c.plan.timeout)
	if err != nil {
		return // the plan has tried each address
	}
	defer conn.Close()
	for e := range c.ready {
		c.done(c.serve(ctx, conn, e))
	}
}

// serve sends one request and returns the buyer's next errand, if he has one.
func (c *crowd) serve(ctx context.Context, conn *httpload.Conn, e errand) *errand {
	c.inFlight.Add(1)
	defer c.inFlight.Add(-1)
	ctx = context.WithoutCancel(ctx) // what is under way when somebody presses Ctrl-C is answered
	buyer := int(e.buyer)
	if e.look {
		_, _ = conn.Do(ctx, httpload.Request{Method: http.MethodGet, Path: c.page}) // he presses the button whatever he saw
		thought := -math.Log1p(-chance(c.plan.seed, buyer, 1)) * float64(c.plan.think)
		return &errand{due: time.Now().Add(time.Duration(thought)), buyer: e.buyer}
	}
	token := c.plan.tokens.of(buyer)
	sent := time.Now()
	c.record.sending(sent, sent.Sub(e.due))
	a, err := conn.Do(ctx, httpload.Request{Method: http.MethodPost, Path: c.path, Token: token})
	told := time.Now()
	j := judge(a, err)
	c.record.add(buyer, j, e.due, sent, told)
	if !j.again() || int(e.attempt) >= c.plan.retry {
		return nil
	}
	pause := j.retryAfter
	if pause == 0 {
		pause = c.plan.pause
	}
	pause += time.Duration(chance(c.plan.seed, buyer, int(e.attempt)+2) * float64(pause)) // not all at the same moment
	return &errand{due: told.Add(pause), buyer: e.buyer, attempt: e.attempt + 1}
}

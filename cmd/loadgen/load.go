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

// request is a buyer's request, to be sent when it is due.
type request struct {
	due     time.Time
	buyer   uint32
	attempt uint16 // 0: the first purchase request
	browse  bool   // only reads the voucher
}

// schedule is a heap.Interface of requests, ordered by due time.
type schedule []request

func (e *schedule) Len() int { return len(*e) }

func (e *schedule) Less(i, j int) bool { return (*e)[i].due.Before((*e)[j].due) }

func (e *schedule) Swap(i, j int) { (*e)[i], (*e)[j] = (*e)[j], (*e)[i] }

func (e *schedule) Push(x any) { *e = append(*e, x.(request)) } // only requests are pushed

func (e *schedule) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

// load is the buyers and the connections that send their requests.
type load struct {
	plan   *plan
	path   string // path of purchases
	page   string // path of the voucher
	record *record
	began  time.Time

	ready    chan request
	inFlight atomic.Int64
	arrived  atomic.Int64

	mu        sync.Mutex
	scheduled schedule
	active    int           // buyers who have arrived but not finished
	wake      chan struct{} // tells dispatch that something changed
}

func newLoad(p *plan, voucher int64, r *record) *load {
	id := strconv.FormatInt(voucher, 10)
	l := &load{
		plan: p, path: "/voucher/seckill/" + id, page: "/voucher/" + id, record: r, began: r.began,
		ready: make(chan request, p.connections), wake: make(chan struct{}, 1),
	}
	if p.wait > 0 {
		l.path += "?wait=" + p.wait.String()
	}
	return l
}

// run returns when all buyers are finished, or when ctx has ended and all requests under way are answered.
func (l *load) run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range l.plan.connections {
		wg.Go(func() { l.serveConn(ctx, i) })
	}
	l.dispatch(ctx)
	close(l.ready)
	wg.Wait()
}

// dispatch passes requests to the connections as they become due.
func (l *load) dispatch(ctx context.Context) {
	for {
		r, found := l.next()
		if !found {
			return
		}
		if wait := time.Until(r.due); wait > 0 {
			select {
			case <-ctx.Done():
				return
			case <-l.wake: // something may be due earlier
				l.putBack(r)
				continue
			case <-time.After(wait):
			}
		}
		select {
		case <-ctx.Done():
			return
		case l.ready <- r:
		}
	}
}

// next takes the request that is due first: a new buyer's or a scheduled one. If there is none while buyers are still
// active, it returns a placeholder that is never due. found is false once all buyers are finished.
func (l *load) next() (r request, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := int(l.arrived.Load())
	arrives := i < l.plan.buyers
	if arrives {
		r = request{
			due:   l.began.Add(l.plan.curve.arrival(i, l.plan.buyers, l.plan.seed)),
			buyer: uint32(i), browse: l.plan.think > 0, // at most 100,000,000 buyers
		}
	}
	if len(l.scheduled) > 0 && (!arrives || l.scheduled[0].due.Before(r.due)) {
		return heap.Pop(&l.scheduled).(request), true // only requests are pushed
	}
	if arrives {
		l.arrived.Add(1)
		l.active++
		return r, true
	}
	if l.active > 0 {
		return request{due: time.Now().Add(time.Hour), buyer: math.MaxUint32}, true
	}
	return r, false
}

// putBack returns a request that is not due yet to the schedule.
func (l *load) putBack(r request) {
	if r.buyer == math.MaxUint32 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	heap.Push(&l.scheduled, r)
}

// finished schedules a buyer's next request, or counts the buyer as finished.
func (l *load) finished(again *request) {
	l.mu.Lock()
	if again != nil {
		heap.Push(&l.scheduled, *again)
	} else {
		l.active--
	}
	changed := again != nil || l.active == 0
	l.mu.Unlock()
	if !changed {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default: // dispatch will wake anyway
	}
}

// serveConn sends requests over one connection until there are no more.
func (l *load) serveConn(ctx context.Context, i int) {
	conn, err := httpload.New(l.plan.servers[i%len(l.plan.servers)], l.plan.timeout)
	if err != nil {
		return // cannot happen: the plan has checked each address
	}
	defer conn.Close()
	for r := range l.ready {
		l.finished(l.send(ctx, conn, r))
	}
}

// send sends one request and returns the buyer's next one, or nil.
func (l *load) send(ctx context.Context, conn *httpload.Conn, r request) *request {
	l.inFlight.Add(1)
	defer l.inFlight.Add(-1)
	ctx = context.WithoutCancel(ctx) // after Ctrl-C, requests under way are still answered
	buyer := int(r.buyer)
	if r.browse {
		// The buyer goes on to buy, whatever the answer.
		_, _ = conn.Do(ctx, httpload.Request{Method: http.MethodGet, Path: l.page, Token: l.plan.tokens.of(buyer)})
		think := -math.Log1p(-random(l.plan.seed, buyer, 1)) * float64(l.plan.think)
		return &request{due: time.Now().Add(time.Duration(think)), buyer: r.buyer}
	}
	token := l.plan.tokens.of(buyer)
	sent := time.Now()
	l.record.sending(sent, sent.Sub(r.due))
	a, err := conn.Do(ctx, httpload.Request{Method: http.MethodPost, Path: l.path, Token: token})
	received := time.Now()
	res := classify(a, err)
	l.record.add(buyer, res, r.due, sent, received)
	if !res.retry() || int(r.attempt) >= l.plan.retry {
		return nil
	}
	pause := res.retryAfter
	if pause == 0 {
		pause = l.plan.pause
	}
	pause += time.Duration(random(l.plan.seed, buyer, int(r.attempt)+2) * float64(pause)) // spreads the retries
	return &request{due: received.Add(pause), buyer: r.buyer, attempt: r.attempt + 1}
}

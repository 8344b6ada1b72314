package admission

import (
	"slices"
	"sort"
	"time"

	"seckill/internal/order/gate"
)

// maxCalls is how many calls of a partition are under way at once. Two: while Redis works on one, the answers of the
// other are read and the next is filled.
const maxCalls = 2

// queue holds the requests that wait in one partition: a line for each sale, and a ring of the sales that have waiting
// requests and are in no call. It is plain data; batcher.mu guards it.
//
// Each sale of the ring gets one place in a call when its turn comes; sales that still have requests after a call go to
// the ring's end. Places that are left go, one by one, to the sale that has most waiting.
type queue struct {
	ring     []*sale // sales with waiting requests that are in no call, in turn
	calls    []*call
	workers  int           // goroutines that make calls
	made     int           // calls since no worker was left
	callTime time.Duration // of those calls, a moving average; 0: none was made
}

// line is a sale's waiting requests, and its turns since it last had none.
type line struct {
	first, last *pending
	waiting     int           // callers who have gone included
	in          *call         // the call that the sale is part of
	due         time.Time     // when the sale entered the ring
	turns       int           // calls that the sale was part of
	turnTime    time.Duration // from due to the end of the call, a moving average; 0: no turn yet
	places      float64       // in calls that left requests behind, a moving average; 0: none did
}

// call is a call under way. Its turns do not change until it ends.
type call struct {
	limit    int64 // gate.Batch.MaxBacklog
	began    time.Time
	turns    []turn
	batches  []gate.Batch   // of the turns, in the same order
	requests []gate.Request // of the batches
	pending  []*pending     // of the requests
}

// turn is a sale's requests in a call.
type turn struct {
	sale    *sale
	pending []*pending
}

// newCall returns a call with room for as many requests as one may have: batches are parts of its requests, which must
// not move.
func newCall(limit int64) *call {
	return &call{
		limit: limit, requests: make([]gate.Request, 0, gate.MaxBatch), pending: make([]*pending, 0, gate.MaxBatch),
	}
}

// add puts a request at the end of its sale's line. It reports whether a worker must be started.
func (q *queue) add(s *sale, p *pending, now time.Time) bool {
	if s.waiting++; s.waiting == 1 {
		s.first = p
	} else {
		s.last.next = p
	}
	s.last = p
	if s.waiting > 1 || s.in != nil {
		return false
	}
	q.enter(s, now)
	return q.hire()
}

// hire registers another worker if a sale waits for one and another one is allowed.
func (q *queue) hire() bool {
	if len(q.ring) == 0 || q.workers == maxCalls {
		return false
	}
	q.workers++
	return true
}

// enter puts a sale at the ring's end.
func (q *queue) enter(s *sale, now time.Time) { s.due, q.ring = now, append(q.ring, s) }

// take fills the call. It returns false, and deregisters the worker, if nothing can be sent. While no other call is
// under way it takes at most half of several sales, so that the other worker can serve the other half.
func (q *queue) take(c *call, now time.Time) bool {
	c.turns, c.batches, c.requests, c.pending = c.turns[:0], c.batches[:0], c.requests[:0], c.pending[:0]
	most := min(len(q.ring), gate.MaxSales)
	if len(q.calls) == 0 && len(q.ring) > 1 {
		most = min(len(q.ring)/2, gate.MaxSales)
	}
	for len(q.ring) > 0 && len(c.turns) < most {
		next := 0
		if most > 1 && len(c.turns) == most-1 {
			next = q.longest()
		}
		s := q.ring[next]
		copy(q.ring[1:], q.ring[:next]) // usually nothing
		q.ring = q.ring[1:]
		if s.live() {
			s.in, c.turns = c, append(c.turns, turn{sale: s})
		} else {
			s.forget()
		}
	}
	if len(c.turns) == 0 {
		if q.workers--; q.workers == 0 {
			q.made, q.callTime = 0, 0
		}
		return false
	}
	c.fill()
	c.began, q.calls = now, append(q.calls, c)
	return true
}

// longest returns the place in the ring of the sale that has most waiting, the first of several.
func (q *queue) longest() (at int) {
	for i, s := range q.ring {
		if s.waiting > q.ring[at].waiting {
			at = i
		}
	}
	return at
}

// fill gives each of the call's sales a place, and the free places to those that have most waiting: it lowers the
// longest lines to one level.
func (c *call) fill() {
	free, longest := gate.MaxBatch-len(c.turns), 0
	for i := range c.turns {
		longest = max(longest, c.turns[i].sale.waiting-1)
	}
	above := func(level int) (n int) {
		for i := range c.turns {
			n += max(0, c.turns[i].sale.waiting-1-level)
		}
		return n
	}
	level := sort.Search(longest, func(level int) bool { return above(level) <= free })
	free -= above(level)
	for i := range c.turns {
		rest := c.turns[i].sale.waiting - 1
		n := max(0, rest-level)
		if free > 0 && level > 0 && rest >= level {
			n, free = n+1, free-1
		}
		c.load(&c.turns[i], 1+n)
	}
}

// load moves up to n requests of the turn's sale into the call, as a batch. It moves the first even if its caller has
// gone since take looked: a batch is never empty.
func (c *call) load(t *turn, n int) {
	from := len(c.requests)
	for more := true; more; more = n > 0 && t.sale.live() {
		p := t.sale.pop()
		n--
		p.sent = true
		c.requests, c.pending = append(c.requests, p.Request), append(c.pending, p)
		if t.sale.known.Before(p.recorded) {
			t.sale.known = p.recorded
		}
	}
	t.pending = c.pending[from:]
	t.sale.learn(len(t.pending))
	c.batches = append(c.batches,
		gate.Batch{Sale: t.sale.ref, Known: t.sale.known, MaxBacklog: c.limit, Requests: c.requests[from:]})
}

// live drops requests at the line's front whose callers have gone. It reports whether one is left.
func (l *line) live() bool {
	for ; l.waiting > 0; l.pop() {
		select {
		case <-l.first.gone:
		default:
			return true
		}
	}
	return false
}

// pop removes the line's first request.
func (l *line) pop() *pending {
	p := l.first
	l.first, l.waiting, p.next = p.next, l.waiting-1, nil
	return p
}

// learn remembers how many places the sale got, if it could have used more or got more than lately.
func (l *line) learn(places int) {
	if l.waiting == 0 && (l.places == 0 || float64(places) <= l.places) {
		return
	}
	if l.places == 0 {
		l.places = float64(places)
	}
	l.places += (float64(places) - l.places) / weight(l.turns)
}

// forget resets what the line has learned, since it has no requests.
func (l *line) forget() { l.turns, l.turnTime, l.places = 0, 0, 0 }

// weight is the number of values in a moving average: few at first, so that slow calls are noticed soon, and more
// later, so that a few stalls refuse nobody.
func weight(n int) float64 {
	const quick, steady = 2, 8
	return float64(min(max(n, quick), steady))
}

// average adds a value, the nth, to a moving average.
func average(old, value time.Duration, n int) time.Duration {
	return old + time.Duration(float64(value-old)/weight(n))
}

// release ends a sale's part in a call, if it has not been ended.
func (q *queue) release(c *call, s *sale, now time.Time) {
	if s.in != c {
		return
	}
	s.in = nil
	if s.waiting == 0 {
		s.forget()
		return
	}
	s.turns++
	s.turnTime = average(s.turnTime, now.Sub(s.due), s.turns)
	q.enter(s, now)
}

// end ends a call, which may be new.
func (q *queue) end(c *call, now time.Time) {
	i := slices.Index(q.calls, c)
	if i < 0 {
		return
	}
	q.calls = slices.Delete(q.calls, i, i+1)
	q.made++
	q.callTime = average(q.callTime, now.Sub(c.began), q.made)
	for i := range c.turns {
		q.release(c, c.turns[i].sale, now)
	}
}

// wait estimates how long one more request of the sale would wait. A sale that had no turn lately has to wait until the
// ring has come round.
func (q *queue) wait(s *sale) time.Duration {
	turn, places := s.turnTime, s.places
	if turn == 0 {
		turn = q.callTime * time.Duration(len(q.ring)/(maxCalls*gate.MaxSales)+1)
	}
	if places == 0 {
		places = gate.MaxBatch
	}
	return turn * time.Duration(float64(s.waiting)/places+1)
}

// refuse empties all lines with the error.
func (q *queue) refuse(err error) {
	for _, c := range q.calls {
		for i := range c.turns {
			if s := c.turns[i].sale; s.in == c {
				s.refuse(err)
			}
		}
	}
	for _, s := range q.ring {
		s.refuse(err)
		s.forget()
	}
	q.ring = nil
}

// refuse answers all requests of the line with the error; they were not sent.
func (l *line) refuse(err error) {
	for l.waiting > 0 {
		l.pop().refuse(err)
	}
}

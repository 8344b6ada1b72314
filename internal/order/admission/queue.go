package admission

import (
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
	first, last *sale // the ring
	ready       int   // sales in the ring
	calls       []*call
	workers     int           // goroutines that make calls
	made        int           // calls since no worker was left
	callTime    time.Duration // of those calls, a moving average; 0: none was made
}

// line is a sale's waiting requests, and its turns since it last had none.
type line struct {
	first, last *pending
	waiting     int           // callers who have gone included
	in          *call         // the call that the sale is part of
	next        *sale         // in the ring
	due         time.Time     // when the sale entered the ring
	turns       int           // calls that the sale was part of
	turnTime    time.Duration // from due to the end of the call, a moving average; 0: no turn yet
	places      float64       // in calls that left requests behind, a moving average; 0: none did
}

// call is a call under way.
type call struct {
	began    time.Time
	sales    []*sale // does not change until the call ends
	turns    []turn
	batches  []gate.Batch   // of the turns, in the same order
	requests []gate.Request // of the batches
}

// turn is a sale's requests in a call.
type turn struct {
	sale        *sale
	first, last *pending
	size        int
	err         error // why the first try got no answer
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
	if q.ready == 0 || q.workers == maxCalls {
		return false
	}
	q.workers++
	return true
}

// enter puts a sale at the ring's end.
func (q *queue) enter(s *sale, now time.Time) {
	s.due, s.next = now, nil
	if q.ready++; q.ready == 1 {
		q.first = s
	} else {
		q.last.next = s
	}
	q.last = s
}

// take fills the call. It returns false, and deregisters the worker, if nothing can be sent. While no other call is
// under way it takes at most half of several sales, so that the other worker can serve the other half.
func (q *queue) take(c *call, now time.Time) bool {
	c.sales, c.turns = c.sales[:0], c.turns[:0]
	most := min(q.ready, gate.MaxSales)
	if len(q.calls) == 0 && q.ready > 1 {
		most = min(q.ready/2, gate.MaxSales)
	}
	for q.ready > 0 && len(c.turns) < most {
		var before *sale // the ring's next sale follows it
		if most > 1 && len(c.turns) == most-1 {
			before = q.beforeLongest()
		}
		s := q.remove(before)
		if t := (turn{sale: s}); t.add(1) {
			s.in, c.sales, c.turns = c, append(c.sales, s), append(c.turns, t)
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

// beforeLongest returns the sale before the one that has most waiting, nil if that is the ring's first.
func (q *queue) beforeLongest() (before *sale) {
	most := q.first.waiting
	for s := q.first; s.next != nil; s = s.next {
		if n := s.next.waiting; n > most {
			most, before = n, s
		}
	}
	return before
}

// remove takes the sale after the given one out of the ring; nil: the first.
func (q *queue) remove(before *sale) *sale {
	at := &q.first
	if before != nil {
		at = &before.next
	}
	s := *at
	if *at = s.next; q.last == s {
		q.last = before
	}
	s.next = nil
	q.ready--
	return s
}

// fill gives the call's free places to the sales that have most waiting: it lowers the longest lines to one level.
func (c *call) fill() {
	free, longest := gate.MaxBatch-len(c.turns), 0
	for i := range c.turns {
		longest = max(longest, c.turns[i].sale.waiting)
	}
	above := func(level int) (n int) {
		for i := range c.turns {
			n += max(0, c.turns[i].sale.waiting-level)
		}
		return n
	}
	level := sort.Search(longest, func(level int) bool { return above(level) <= free })
	free -= above(level)
	for i := range c.turns {
		t := &c.turns[i]
		n := max(0, t.sale.waiting-level)
		if free > 0 && level > 0 && t.sale.waiting >= level {
			n, free = n+1, free-1
		}
		t.add(n)
		t.sale.learn(t.size)
	}
}

// add moves up to n requests of the sale to the turn, and drops those whose callers have gone. It reports whether there
// were any.
func (t *turn) add(n int) bool {
	l := &t.sale.line
	for ; n > 0 && l.waiting > 0; l.waiting-- {
		p := l.first
		l.first, p.next = p.next, nil
		select {
		case <-p.gone:
			continue
		default:
		}
		if t.size++; t.size == 1 {
			t.first = p
		} else {
			t.last.next = p
		}
		p.sent, t.last, n = true, p, n-1
	}
	return t.size > 0
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
	for i, other := range q.calls {
		if other != c {
			continue
		}
		q.calls = append(q.calls[:i], q.calls[i+1:]...)
		q.made++
		q.callTime = average(q.callTime, now.Sub(c.began), q.made)
		for _, s := range c.sales {
			q.release(c, s, now)
		}
		return
	}
}

// wait estimates how long one more request of the sale would wait. A sale that had no turn lately has to wait until the
// ring has come round.
func (q *queue) wait(s *sale) time.Duration {
	turn, places := s.turnTime, s.places
	if turn == 0 {
		turn = q.callTime * time.Duration(q.ready/(maxCalls*gate.MaxSales)+1)
	}
	if places == 0 {
		places = gate.MaxBatch
	}
	return turn * time.Duration(float64(s.waiting)/places+1)
}

// refuse empties all lines with the error.
func (q *queue) refuse(err error) {
	for _, c := range q.calls {
		for _, s := range c.sales {
			if s.in == c {
				s.refuse(err)
			}
		}
	}
	for q.ready > 0 {
		s := q.remove(nil)
		s.refuse(err)
		s.forget()
	}
}

// refuse answers all requests of the line with the error; they were not sent.
func (l *line) refuse(err error) {
	for ; l.waiting > 0; l.waiting-- {
		p := l.first
		l.first, p.next, p.err = p.next, nil, err
		p.done <- struct{}{}
	}
}

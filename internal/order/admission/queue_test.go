package admission

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order/gate"
)

var errRefused = errors.New("refused")

// waiter is a request in the model: its place in its sale's line, and its caller's way to give up.
type waiter struct {
	*pending
	leave    chan struct{}
	left     bool
	answered bool
}

// queueModel is a queue, and what the lines and the ring must be. Its workers are the calls under way.
type queueModel struct {
	fataler
	queue
	all   []*sale
	lines map[*sale][]*waiter
	ring  []*sale
	now   time.Time
	began int // workers that have been started and have not ended
}

// fataler is a test.
type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newQueueModel(t fataler, sales int) *queueModel {
	m := &queueModel{fataler: t, lines: map[*sale][]*waiter{}, now: time.Unix(0, 0)}
	for range sales {
		m.all = append(m.all, new(sale))
	}
	return m
}

// come adds n requests of a sale.
func (m *queueModel) come(s *sale, n int) {
	for range n {
		w := &waiter{leave: make(chan struct{})}
		w.pending = &pending{done: make(chan struct{}, 1), gone: w.leave}
		if len(m.lines[s]) == 0 && s.in == nil {
			m.ring = append(m.ring, s)
		}
		m.lines[s] = append(m.lines[s], w)
		if m.add(s, w.pending, m.now) {
			m.began++
		}
	}
}

// call lets a worker take the next call, and checks it against the lines and the ring before.
func (m *queueModel) call() *call {
	if m.began == 0 {
		return nil
	}
	c, idle := newCall(1), len(m.calls) == 0
	places := min(len(m.ring), gate.MaxSales)
	if idle && len(m.ring) > 1 {
		places = min(len(m.ring)/2, gate.MaxSales)
	}
	ring, left := m.live(), m.anyLeft()
	more := m.take(c, m.now)
	m.ring = slices.DeleteFunc(m.ring, func(s *sale) bool { // all of its callers have gone
		gone := s.waiting == 0 && s.in == nil && !slices.Contains(ring, s)
		if gone {
			m.lines[s] = nil
		}
		return gone
	})
	if !more {
		m.began--
		if len(ring) > 0 {
			m.Fatalf("%d sales wait, and none is in the call", len(ring))
		}
		return nil
	}
	size, taken := 0, map[*sale]int{}
	for i := range c.turns {
		t := &c.turns[i]
		if taken[t.sale] > 0 || t.sale.in != c || !slices.Contains(ring, t.sale) {
			m.Fatalf("sale %d: its turn is lost, sent twice or for nobody", m.number(t.sale))
		}
		taken[t.sale], size = len(t.pending), size+len(t.pending)
		m.sent(t)
	}
	if size > gate.MaxBatch || len(c.turns) > places {
		m.Fatalf("a call of %d requests and %d sales; it may have %d", size, len(c.turns), places)
	}
	m.inTurn(c, ring, places)
	if !left { // lengths of lines are estimates otherwise
		m.fair(c, ring, places)
	}
	m.ring = slices.DeleteFunc(m.ring, func(s *sale) bool { return taken[s] > 0 })
	if m.hire() {
		m.began++
	}
	return c
}

// live returns the sales of the ring that have a caller who has not gone.
func (m *queueModel) live() []*sale {
	return slices.DeleteFunc(slices.Clone(m.ring), func(s *sale) bool {
		return !slices.ContainsFunc(m.lines[s], func(w *waiter) bool { return !w.left })
	})
}

// sent removes the requests of a turn, which must be the first of the sale's line, without those who have gone.
func (m *queueModel) sent(t *turn) {
	line := m.lines[t.sale]
	for _, p := range t.pending {
		for line[0].left {
			line = line[1:]
		}
		if line[0].pending != p || line[0].answered || !p.sent {
			m.Fatalf("sale %d: a request is lost, sent twice or overtaken", m.number(t.sale))
		}
		line[0].answered, line = true, line[1:]
	}
	m.lines[t.sale] = line[len(line)-t.sale.waiting:] // callers who have gone may have been dropped behind them
}

// inTurn checks that the sales at the front of the ring have a place in the call, all but one.
func (m *queueModel) inTurn(c *call, ring []*sale, places int) {
	for i, s := range ring {
		if i < max(1, places-1) && s.in != c {
			m.Fatalf("the ring's sale %d of %d has no place in a call of %d", i, len(ring), places)
		}
	}
}

// fair checks that no place is free while somebody waits for one, that each place beside the sale's own went to the
// longest line, and that the longest line of the ring is part of the call.
func (m *queueModel) fair(c *call, ring []*sale, places int) {
	size, longest := 0, 0
	for _, t := range c.turns {
		size += len(t.pending)
		longest = max(longest, t.sale.waiting)
	}
	if size < gate.MaxBatch && longest > 0 {
		m.Fatalf("%d places are free, and %d requests of a sale wait", gate.MaxBatch-size, longest)
	}
	for _, t := range c.turns {
		if got := len(t.pending); got > 1 && t.sale.waiting+1 < longest {
			m.Fatalf("a sale got %d places and has %d waiting, another has %d", got, t.sale.waiting, longest)
		}
	}
	last := c.turns[len(c.turns)-1]
	for _, s := range ring {
		if places > 1 && s.in != c && s.waiting > len(last.pending)+last.sale.waiting {
			m.Fatalf("a sale with %d waiting is not in the call", s.waiting)
		}
	}
}

// anyLeft reports whether any caller has gone.
func (m *queueModel) anyLeft() bool {
	for _, line := range m.lines {
		if slices.ContainsFunc(line, func(w *waiter) bool { return w.left }) {
			return true
		}
	}
	return false
}

// over ends a call. Some of its sales may have been released earlier.
func (m *queueModel) over(c *call) {
	for _, t := range c.turns {
		m.free(c, t.sale)
	}
	m.end(c, m.now)
}

// free ends a sale's part in a call.
func (m *queueModel) free(c *call, s *sale) {
	if s.in == c && len(m.lines[s]) > 0 {
		m.ring = append(m.ring, s)
	}
	m.release(c, s, m.now)
	if m.hire() {
		m.began++
	}
}

// refused checks that all requests of the line, and no others, have just been refused.
func (m *queueModel) refused(sales ...*sale) {
	for _, s := range m.all {
		for _, w := range m.lines[s] {
			refused := len(w.done) == 1
			if refused != slices.Contains(sales, s) || refused && (w.err == nil || w.sent) {
				m.Fatalf("sale %d: refused %t: %v", m.number(s), refused, w.err)
			}
		}
	}
	for _, s := range sales {
		m.lines[s] = nil
	}
}

func (m *queueModel) number(s *sale) int { return slices.Index(m.all, s) }

// check compares the queue with the model.
func (m *queueModel) check(*rapid.T) {
	if !slices.Equal(m.queue.ring, m.ring) {
		m.Fatalf("the ring has %d sales, want %d", len(m.queue.ring), len(m.ring))
	}
	for _, s := range m.all {
		if s.waiting != len(m.lines[s]) {
			m.Fatalf("sale %d: %d requests wait, want %d", m.number(s), s.waiting, len(m.lines[s]))
		}
	}
	if m.workers != m.began || m.workers > maxCalls || len(m.calls) > m.workers {
		m.Fatalf("%d workers, of which %d were started, with %d calls", m.workers, m.began, len(m.calls))
	}
	if len(m.ring) > 0 && m.workers == 0 {
		m.Fatal("sales wait, and there is no worker")
	}
}

// Whatever happens, no request is lost, sent twice or overtaken by a later one of its sale; a sale is in one call at a
// time; each sale has a place when its turn in the ring comes, and the rest goes to the sales with most waiting; the
// request of a caller who has gone is not sent; and a refusal concerns whom it must.
func TestQueueModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newQueueModel(t, rapid.SampledFrom([]int{1, 2, 3, 5, 20, 200}).Draw(t, "sales"))
		one := func() *sale { return m.all[rapid.IntRange(0, len(m.all)-1).Draw(t, "sale")] }
		t.Repeat(map[string]func(*rapid.T){
			"":     m.check,
			"come": func(*rapid.T) { m.come(one(), 1) },
			"rush": func(*rapid.T) { m.come(one(), rapid.IntRange(2, 600).Draw(t, "requests")) },
			"all": func(*rapid.T) {
				for _, s := range m.all {
					m.come(s, 1)
				}
			},
			"leave": func(*rapid.T) {
				each := rapid.IntRange(1, 4).Draw(t, "each")
				for i, w := range m.lines[one()] {
					if !w.left && i%each == 0 {
						w.left = true
						close(w.leave)
					}
				}
			},
			"take": func(*rapid.T) {
				if len(m.calls) < m.began {
					m.call()
				}
			},
			"end": func(*rapid.T) {
				m.now = m.now.Add(time.Millisecond)
				if len(m.calls) > 0 {
					m.over(m.calls[rapid.IntRange(0, len(m.calls)-1).Draw(t, "call")])
				}
			},
			"release": func(*rapid.T) {
				if len(m.calls) > 0 {
					c := m.calls[rapid.IntRange(0, len(m.calls)-1).Draw(t, "call")]
					m.free(c, c.turns[rapid.IntRange(0, len(c.turns)-1).Draw(t, "of")].sale)
				}
			},
			"refuse a sale": func(*rapid.T) {
				if s := one(); s.in != nil {
					s.refuse(errRefused)
					m.refused(s)
				}
			},
			"refuse all": func(*rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "now") == 0 {
					m.refuse(errRefused)
					m.refused(m.all...)
					m.ring = nil
				}
			},
		})
		for m.began > 0 {
			if len(m.calls) > 0 {
				m.over(m.calls[0])
			}
			m.call()
			m.check(t)
		}
	})
}

// A call has a request of each of its sales, even if the caller goes while it is filled: the script refuses a call with
// an empty batch.
func TestNoBatchIsEmpty(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	close(gone)
	s, c := new(sale), newCall(1)
	new(queue).add(s, &pending{gone: gone}, time.Unix(0, 0))
	c.turns = []turn{{sale: s}}
	c.fill()
	if len(c.batches) != 1 || len(c.batches[0].Requests) != 1 || len(c.turns[0].pending) != 1 {
		t.Errorf("batches %+v", c.batches)
	}
}

// A thousand sales with one request each, beside one with 20,000: each of them has its place in the first time that the
// ring comes round, and the rush gets all other places of each call that it is in.
func TestThousandSalesBesideARush(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 500, 1000} {
		m := newQueueModel(t, 1001)
		rush := m.all[at]
		for _, s := range m.all {
			m.come(s, 1)
		}
		m.come(rush, 20_000-1)
		calls, of, served := 0, 0, 0
		for ; served < 1000; calls++ {
			for len(m.calls) < maxCalls && len(m.ring) > 0 {
				c := m.call()
				for _, turn := range c.turns {
					if turn.sale != rush {
						served++
						continue
					}
					if of++; len(turn.pending) != gate.MaxBatch-(len(c.turns)-1) {
						t.Fatalf("the rush got %d places of a call of %d sales", len(turn.pending), len(c.turns))
					}
				}
			}
			m.over(m.calls[0])
		}
		if calls > 1000/(gate.MaxSales-1)+2 || of < calls/2 {
			t.Errorf("sale %d: %d calls until each sale had its place, the rush in %d of them", at, calls, of)
		}
	}
}

package idworker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// memory is a Counter and a History in memory, shared by the workers of a test. It fulfils their contracts. It can lose
// counted numbers, fail, and delay reservations.
type memory struct {
	mu       sync.Mutex
	numbers  map[string]int64 // day → last number given
	ids      []int64          // recorded ids
	leaps    int64
	moved    map[string]bool // days whose next reservation leaps: another server has taken over
	requests []Reservation
	answers  []answer
	asked    int           // calls of OrderIDs
	fails    error         // error of Reserve
	failures int           // how often it fails; 0: always
	ledger   error         // error of OrderIDs
	held     chan struct{} // if not nil, Reserve waits until it is closed
	arrived  chan struct{} // receives a value from every Reserve; buffered
}

// answer is a granted reservation of a day: the numbers above from, up to last.
type answer struct {
	day        string
	from, last int64
}

func newMemory() *memory {
	return &memory{numbers: make(map[string]int64), moved: make(map[string]bool), arrived: make(chan struct{}, 1000)}
}

const testLeap = 1 << 20

func (m *memory) Reserve(ctx context.Context, r Reservation) (int64, error) {
	m.mu.Lock()
	held := m.held
	m.requests = append(m.requests, r)
	m.mu.Unlock()
	m.arrived <- struct{}{}
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fails; err != nil {
		if m.failures--; m.failures == 0 {
			m.fails = nil
		}
		return 0, err
	}
	n, ok := m.numbers[r.Day]
	switch {
	case !ok && !r.Create:
		return 0, ErrCounterMissing
	case !ok && r.Known == 0:
		// The real counter starts at a random number; this one avoids collisions with earlier numbers.
		m.leaps++
		n = m.leaps * 4 * testLeap
	case !ok, n < r.Known, m.moved[r.Day]:
		m.leaps++
		n = max(n, r.Known) + testLeap + m.leaps*10_000
	}
	if n+r.N > MaxNumber {
		return 0, ErrExhausted
	}
	m.numbers[r.Day] = n + r.N
	delete(m.moved, r.Day)
	m.answers = append(m.answers, answer{r.Day, n, n + r.N})
	return n + r.N, nil
}

func (m *memory) OrderIDs(_ context.Context, from, to int64, yield func(int64)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	for _, id := range m.ids {
		if id >= from && id < to {
			yield(id)
		}
	}
	return m.ledger
}

// do changes the memory's state under its lock.
func (m *memory) do(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// hold blocks reservations until release is called.
func (m *memory) hold() (release func()) {
	held := make(chan struct{})
	m.do(func() { m.held = held })
	return func() {
		m.do(func() { m.held = nil })
		close(held)
	}
}

// reservations returns the requests so far.
func (m *memory) reservations() []Reservation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// reserved reports whether the number was reserved for the day.
func (m *memory) reserved(day string, number int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.answers, func(a answer) bool {
		return a.day == day && a.from < number && number <= a.last
	})
}

// clock is a clock that stands still until it is moved.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock(t time.Time) *clock { return &clock{t: t} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

var (
	testKey  = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	testTime = time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
	testDay  = "2026:11:11"
)

// newWorker returns a worker with the memory and the clock; the end of the test closes it.
func newWorker(tb testing.TB, m *memory, c *clock, size int64) *Worker {
	tb.Helper()
	w := New(m, m, testKey, Options{BlockSize: size, Now: c.now})
	tb.Cleanup(func() {
		if err := w.Close(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return w
}

// take takes n ids, or fails the test.
func take(tb testing.TB, w *Worker, n int) []int64 {
	tb.Helper()
	ids := make([]int64, n)
	for i := range ids {
		var err error
		if ids[i], err = w.Next(tb.Context()); err != nil {
			tb.Fatalf("id %d of %d: %v", i+1, n, err)
		}
	}
	return ids
}

// allDistinct fails the test if an id occurs twice or is not positive.
func allDistinct(tb testing.TB, ids ...[]int64) {
	tb.Helper()
	seen := make(map[int64]bool)
	for _, some := range ids {
		for _, id := range some {
			if id <= 0 || seen[id] {
				tb.Fatalf("id %d is not positive or was given before", id)
			}
			seen[id] = true
		}
	}
}

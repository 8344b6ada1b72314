package order

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// askedRows counts questions, and answers from what it is given.
type askedRows struct {
	fakeRows
	questions, ids int
}

func (r *askedRows) Recorded(ctx context.Context, ids []int64) (map[int64]Status, error) {
	r.mu.Lock()
	r.questions++
	r.ids += len(ids)
	r.mu.Unlock()
	return r.fakeRows.Recorded(ctx, ids)
}

func (r *askedRows) asked() (questions, ids int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	questions, ids, r.questions, r.ids = r.questions, r.ids, 0, 0
	return questions, ids
}

func newAskedRows() *askedRows { return &askedRows{fakeRows: fakeRows{rows: map[int64]Order{}}} }

func TestSeatHearsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	told := func(w *Waitroom, s Status) { w.Told(map[int64]Status{7: s}) }
	for name, tc := range map[string]struct {
		before func(w *Waitroom) // told between Enter and Wait
		known  Status
		want   Status
	}{
		"told before it waits":              {before: func(w *Waitroom) { told(w, Unpaid) }, known: Queued, want: Unpaid},
		"the last of several counts":        {before: func(w *Waitroom) { told(w, Unpaid); told(w, Paid) }, known: Queued, want: Paid},
		"what it knows by now is no news":   {before: func(w *Waitroom) { told(w, Unpaid) }, known: Unpaid, want: Cancelled},
		"nor is what happens to others":     {before: func(w *Waitroom) { w.Told(map[int64]Status{8: Unpaid}) }, known: Queued, want: Cancelled},
		"it is told of a cancelled one too": {before: func(w *Waitroom) { told(w, Cancelled) }, known: Unpaid, want: Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := NewWaitroom(newAskedRows(), quiet())
			s := w.Enter(7)
			defer s.Leave()
			tc.before(w)
			got := make(chan Status, 1)
			go func() {
				status, err := s.Wait(t.Context(), tc.known)
				if err != nil {
					t.Error(err)
				}
				got <- status
			}()
			if tc.want == Cancelled { // the news comes while it waits, or has come
				waitUntil(t, func() bool {
					w.mu.Lock()
					defer w.mu.Unlock()
					return s.waits || len(got) > 0
				})
				told(w, Cancelled)
			}
			if status := <-got; status != tc.want {
				t.Errorf("told %s, want %s", status, tc.want)
			}
		})
	}
}

func TestSeatIsUsedAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := NewWaitroom(newAskedRows(), quiet())
	s := w.Enter(7)
	known := Queued
	for _, next := range []Status{Unpaid, Cancelled, Paid, Refunding, Refunded} {
		w.Told(map[int64]Status{7: next})
		got, err := s.Wait(t.Context(), known)
		if err != nil || got != next {
			t.Fatalf("%s, %v; want %s", got, err, next)
		}
		known = got
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Wait(ctx, known); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	s.Leave()
	s.Leave()
	w.Told(map[int64]Status{7: Unpaid}) // nobody is there
	w.Dismiss()
	if _, err := w.Enter(7).Wait(t.Context(), known); !errors.Is(err, ErrDismissed) {
		t.Errorf("error = %v, want ErrDismissed", err)
	}
}

// What it was told of counts as known, also when what comes next is what it knew before.
func TestSeatHearsOfWhatComesBack(t *testing.T) {
	t.Parallel()
	w := NewWaitroom(newAskedRows(), quiet())
	s := w.Enter(7)
	defer s.Leave()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Wait(over, Paid); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	known := Paid
	for _, next := range []Status{Cancelled, Paid, Cancelled} {
		w.Told(map[int64]Status{7: next})
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		got, err := s.Wait(soon, known)
		cancel()
		if err != nil || got != next {
			t.Fatalf("%s, %v; want %s", got, err, next)
		}
		known = got
	}
}

// However many wait, the ledger is asked twenty times a second for rows and once a second for other changes, in queries of
// a thousand; and not at all when nobody waits.
func TestWaitroomAsksForAllAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const each = 2500
		rows := newAskedRows()
		w := NewWaitroom(rows, quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		time.Sleep(time.Minute)
		if n, _ := rows.asked(); n != 0 {
			t.Errorf("asked %d times for nobody", n)
		}
		waiting, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		sit := func(known Status, from int64) {
			for i := range int64(each) {
				wg.Go(func() {
					s := w.Enter(from + i)
					defer s.Leave()
					_, _ = s.Wait(waiting, known) // ends when all leave
				})
			}
		}
		w.Enter(1).Leave()
		idle := w.Enter(2) // does not know yet whether it got in
		sit(Unpaid, 10_000)
		synctest.Wait()
		time.Sleep(2 * time.Second)
		rows.asked()
		time.Sleep(10*time.Second - time.Millisecond)
		if n, ids := rows.asked(); n > 33 || n < 27 || ids != n/3*each {
			t.Errorf("%d queries with %d ids in 10 s for %d who watch, want 30", n, ids, each)
		}
		sit(Queued, 20_000)
		time.Sleep(2 * time.Second)
		rows.asked()
		time.Sleep(10*time.Second - time.Millisecond)
		if n, _ := rows.asked(); n > 640 || n < 600 { // 200 × 3 and 10 × 2 or 3: what is left of one thousand joins the next
			t.Errorf("%d queries in 10 s for as many more who wait for rows, want 625", n)
		}
		leave()
		wg.Wait()
		idle.Leave()
		if len(w.queue)+len(w.stalls) != 0 {
			t.Errorf("seats are left: %d and %d", len(w.queue), len(w.stalls))
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Another instance pays: whoever watches hears of it within a second, also after the ledger was away.
func TestWaitroomHearsOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := newAskedRows()
		w := NewWaitroom(rows, quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		rows.put(Order{ID: 7, Status: Unpaid})
		s := w.Enter(7)
		got := make(chan Status)
		go func() {
			status, err := s.Wait(t.Context(), Unpaid)
			if err != nil {
				t.Error(err)
			}
			got <- status
		}()
		rows.mu.Lock()
		rows.away = true
		rows.mu.Unlock()
		time.Sleep(10 * time.Second)
		rows.mu.Lock()
		rows.away = false
		rows.mu.Unlock()
		rows.put(Order{ID: 7, Status: Paid})
		start := time.Now()
		if status := <-got; status != Paid {
			t.Errorf("told %s", status)
		}
		if took := time.Since(start); took > longPause+watchEvery {
			t.Errorf("told after %v", took)
		}
		s.Leave()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// The seats of a room, whatever is done to them: who stands on a bench is who entered and has not left, and a caller is
// never left waiting with news that he does not know.
func TestWaitroomKeepsItsSeats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := NewWaitroom(newAskedRows(), quiet())
		type caller struct {
			seat  *Seat
			known Status
		}
		var callers []caller
		last := map[int64]Status{}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := rapid.Int64Range(1, 3).Draw(t, "order")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				callers = append(callers, caller{seat: w.Enter(id), known: last[id]})
			case 1:
				last[id] = rapid.SampledFrom([]Status{Unpaid, Paid, Cancelled}).Draw(t, "status")
				w.Told(map[int64]Status{id: last[id]})
			default:
				if len(callers) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(callers)-1).Draw(t, "caller")
				c := &callers[i]
				if rapid.Bool().Draw(t, "leaves") {
					c.seat.Leave()
					callers = append(callers[:i], callers[i+1:]...)
					continue
				}
				id := c.seat.orderID
				if last[id] == c.known { // would wait
					_, _ = c.seat.Wait(over, c.known)
					continue
				}
				status, err := c.seat.Wait(over, c.known)
				if err == nil {
					c.known = status
				}
				// The context is over as well, so it may win; but not twenty times.
				for n := 0; err != nil && n < 20; n++ {
					if status, err = c.seat.Wait(over, c.known); err == nil {
						c.known = status
					}
				}
				if err != nil && c.known != last[id] {
					t.Fatalf("order %d is %s; a caller who knows %s is not told", id, last[id], c.known)
				}
			}
		}
		seats := 0
		for _, b := range []bench{w.queue, w.stalls} {
			for id, s := range b {
				for before := (*Seat)(nil); s != nil; before, s = s, s.next {
					if seats++; s.orderID != id || s.previous != before {
						t.Fatalf("the bench of order %d is not in order", id)
					}
				}
			}
		}
		if seats != len(callers) {
			t.Fatalf("%d seats for %d callers", seats, len(callers))
		}
	})
}

// BenchmarkWaiting10000 measures what ten thousand waiters cost beyond their own goroutines, and how long it takes until
// each of them has been told.
func BenchmarkWaiting10000(b *testing.B) {
	const waiters = 10_000
	var bytes, woken float64
	for range b.N {
		w := NewWaitroom(newAskedRows(), quiet())
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		seats := make([]*Seat, waiters)
		for i := range seats {
			seats[i] = w.EnterStirred(int64(i), watchStir)
			seats[i].settle(Unpaid)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		bytes += float64(after.HeapAlloc-before.HeapAlloc) / waiters
		outcomes := make(map[int64]Status, waiters)
		for i := range seats {
			outcomes[int64(i)] = Paid
		}
		var wg, sitting sync.WaitGroup
		for _, s := range seats {
			sitting.Add(1)
			wg.Go(func() {
				defer s.Leave()
				sitting.Done()
				if status, err := s.Wait(b.Context(), Unpaid); err != nil || status != Paid {
					b.Errorf("%s, %v", status, err)
				}
			})
		}
		sitting.Wait()
		for len(w.ids(w.stalls)) < waiters {
			runtime.Gosched()
		}
		start := time.Now()
		w.Told(outcomes)
		wg.Wait()
		woken += float64(time.Since(start).Microseconds()) / 1000
	}
	b.ReportMetric(bytes/float64(b.N), "B/seat")
	b.ReportMetric(woken/float64(b.N), "ms/10000-woken")
	b.ReportMetric(0, "ns/op") // says nothing here
}

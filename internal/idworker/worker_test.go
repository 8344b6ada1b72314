package idworker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNextUsesItsBlockInOrder(t *testing.T) {
	t.Parallel()
	m, c := newMemory(), newClock(testTime)
	m.numbers[testDay] = 500
	w := newWorker(t, m, c, 10)
	for i, id := range take(t, w, 35) {
		if got, want := w.perm.number(id), int64(501+i); got != want {
			t.Errorf("the number of id %d is %d, want %d", i, got, want)
		}
		if got := Time(id); !got.Equal(testTime) {
			t.Errorf("id %d is of %v, want %v", i, got, testTime)
		}
	}
	if m.asked != 0 {
		t.Errorf("the ledger was read %d times although the counter existed", m.asked)
	}
}

func TestNewDayStartsAtARandomNumber(t *testing.T) {
	t.Parallel()
	m, c := newMemory(), newClock(testTime)
	w := newWorker(t, m, c, 10)
	if err := w.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []Reservation{{Day: testDay, N: 10}, {Day: testDay, N: 10, Create: true}}
	if diff := cmp.Diff(want, m.reservations()); diff != "" {
		t.Errorf("reservations (-want +got):\n%s", diff)
	}
	c.add(4 * time.Hour)
	id := take(t, w, 1)[0]
	if got, want := Time(id), testTime.Add(4*time.Hour); !got.Equal(want) {
		t.Errorf("the id is of %v, want %v", got, want)
	}
	if got := m.reservations(); len(got) != 4 || got[3].Day != "2026:11:12" || got[3].Known != 0 {
		t.Errorf("reservations %+v, want two for the next day, without a known number", got)
	}
}

// TestLostCounter checks that a missing counter is created above the highest number that the worker or the ledger
// knows.
func TestLostCounter(t *testing.T) {
	t.Parallel()
	const given = 512 // the highest number that a used worker knows
	for name, c := range map[string]struct {
		fresh    bool
		recorded []int64 // recorded numbers
		want     int64   // Known of the reservation that creates the counter
	}{
		"known":                         {want: given},
		"known, less recorded":          {recorded: []int64{3, 7, 5}, want: given},
		"known, more recorded":          {recorded: []int64{3, 7000, 5}, want: 7000},
		"new process":                   {fresh: true, recorded: []int64{3, 7, 5}, want: 7},
		"new process, nothing recorded": {fresh: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			w := newWorker(t, m, newClock(testTime), 2)
			second, err := secondOf(testTime)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range c.recorded {
				m.ids = append(m.ids, w.perm.id(second, n), w.perm.id(second+secondsPerDay, n+5000))
			}
			var before []int64
			if !c.fresh {
				m.numbers[testDay] = given - 2
				before = take(t, w, 1)
				m.do(func() { clear(m.numbers) })
			}
			before = append(before, take(t, w, 2)...)
			got := m.reservations()
			got = slices.DeleteFunc(got, func(r Reservation) bool { return !r.Create })
			if diff := cmp.Diff([]Reservation{{Day: testDay, N: 2, Known: c.want, Create: true}},
				got[:min(1, len(got))]); diff != "" {
				t.Errorf("reservation that creates the counter (-want +got):\n%s", diff)
			}
			allDistinct(t, before)
		})
	}
}

// TestNextBlockIsFetchedInAdvance checks that the next block is requested after four fifths of the current one, so that
// no caller waits.
func TestNextBlockIsFetchedInAdvance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), newClock(testTime)
		w := newWorker(t, m, c, 100)
		m.numbers[testDay] = 0
		take(t, w, 79)
		synctest.Wait()
		if got := len(m.reservations()); got != 1 {
			t.Fatalf("%d reservations after 79 of 100 numbers, want 1", got)
		}
		release := m.hold()
		take(t, w, 21) // none of these waits, although the reservation hangs
		synctest.Wait()
		if got := len(m.reservations()); got != 2 {
			t.Fatalf("%d reservations after the block, want 2", got)
		}
		release()
		synctest.Wait()
		take(t, w, 79)
		if got := len(m.reservations()); got != 2 {
			t.Errorf("%d reservations, want 2: the one in advance is used", got)
		}
	})
}

func TestCallersOfAnEmptyBlockWaitForOneReservation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), newClock(testTime)
		m.numbers[testDay] = 0
		w := newWorker(t, m, c, 50)
		release := m.hold()

		impatient, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var failed error
		wg.Go(func() { _, failed = w.Next(impatient) }) // this caller may have started the reservation
		synctest.Wait()
		ids := make([]int64, 50)
		for i := range ids {
			wg.Go(func() { ids[i], _ = w.Next(t.Context()) })
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		release()
		wg.Wait()

		if !errors.Is(failed, context.Canceled) {
			t.Errorf("the caller whose context ended got %v, want its error", failed)
		}
		allDistinct(t, ids)
		if got := m.reservations(); len(got) > 2 { // one for the callers, and one in advance
			t.Errorf("%d reservations for one block", len(got))
		}
	})
}

func TestFailedReservation(t *testing.T) {
	t.Parallel()
	away := errors.New("redis is away")
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), newClock(testTime)
		m.numbers[testDay] = 0
		w := newWorker(t, m, c, 100)
		first := take(t, w, 1)
		m.do(func() { m.fails = away })
		// The reserved numbers are used up, with few attempts to get more. Each attempt fails before the next call.
		for range 99 {
			first = append(first, take(t, w, 1)...)
			synctest.Wait()
		}
		if got := len(m.reservations()); got < 3 || got > 10 {
			t.Errorf("%d reservations while the last fifth was taken, want a few", got)
		}
		for range 2 {
			if _, err := w.Next(t.Context()); !errors.Is(err, away) {
				t.Fatalf("Next without reserved numbers: %v, want %v", err, away)
			}
		}
		m.do(func() { m.fails = nil })
		allDistinct(t, first, take(t, w, 250))
	})
}

func TestNextFails(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for name, c := range map[string]struct {
		at      time.Time
		prepare func(*memory)
		want    error
	}{
		"clock before 2022": {at: time.Unix(0, 0), want: ErrClock},
		"clock after 2090":  {at: time.Date(2091, 1, 1, 0, 0, 0, 0, time.UTC), want: ErrClock},
		"day used up": {
			prepare: func(m *memory) { m.numbers[testDay] = MaxNumber - 9 }, want: ErrExhausted,
		},
		"counter gone, no ledger": {prepare: func(m *memory) { m.ledger = away }, want: away},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			if c.prepare != nil {
				c.prepare(m)
			}
			if c.at.IsZero() {
				c.at = testTime
			}
			w := newWorker(t, m, newClock(c.at), 10)
			if id, err := w.Next(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("Next = %d, %v; want %v", id, err, c.want)
			}
		})
	}
}

// TestNumbersNeverWrap checks that no number follows the day's last one.
func TestNumbersNeverWrap(t *testing.T) {
	t.Parallel()
	m, c := newMemory(), newClock(testTime)
	m.numbers[testDay] = MaxNumber - 25
	w := newWorker(t, m, c, 10)
	ids := take(t, w, 20)
	if got := w.perm.number(ids[19]); got != MaxNumber-5 {
		t.Errorf("the last number is %d, want %d", got, MaxNumber-5)
	}
	for range 3 {
		if _, err := w.Next(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Fatalf("Next = %v, want ErrExhausted", err)
		}
	}
	c.add(4 * time.Hour)
	allDistinct(t, ids, take(t, w, 20))
}

// badCounter returns the same numbers again and again.
type badCounter struct{ last int64 }

func (b badCounter) Reserve(context.Context, Reservation) (int64, error) { return b.last, nil }

func TestNumbersOfABrokenCounterAreNotUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last  int64
		first int // ids before the error
	}{
		"the same numbers twice": {last: 10, first: 10},
		"too high":               {last: MaxNumber + 1},
		"negative":               {last: -1},
		"overlapping 0":          {last: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := New(badCounter{c.last}, newMemory(), testKey, Options{BlockSize: 10, Now: newClock(testTime).now})
			ids := take(t, w, c.first)
			if id, err := w.Next(t.Context()); err == nil {
				t.Errorf("Next gave %d (number %d)", id, w.perm.number(id))
			}
			allDistinct(t, ids)
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	m, c := newMemory(), newClock(testTime)
	w := newWorker(t, m, c, 10)
	release := m.hold() // only Close can end the reservation
	defer release()
	failed := make(chan error)
	go func() {
		_, err := w.Next(context.WithoutCancel(t.Context()))
		failed <- err
	}()
	<-m.arrived
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // far less than a reservation may take
	defer cancel()
	for range 2 {
		if err := w.Close(ctx); err != nil {
			t.Fatalf("Close = %v", err)
		}
	}
	if err := <-failed; err == nil {
		t.Error("Next of a closed worker gave an id")
	}
	for name, call := range map[string]func() error{
		"Next": func() error { _, err := w.Next(t.Context()); return err },
		"Warm": func() error { return w.Warm(t.Context()) },
	} {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close = %v, want ErrClosed", name, err)
		}
	}
}

// A closed worker gives none of the numbers that it has, and reserves no others.
func TestCloseDropsNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.numbers[testDay] = 0
		w := newWorker(t, m, newClock(testTime), 10)
		take(t, w, 9) // the next block is reserved, too
		synctest.Wait()
		b := w.current.Load()
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked := len(m.reservations())
		if id, err := w.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Next after Close = %d, %v; want ErrClosed", id, err)
		}
		w.prefetch(t.Context(), b) // a call that had taken its number before
		synctest.Wait()
		if n := len(m.reservations()); n != asked {
			t.Errorf("%d reservations after Close", n-asked)
		}
	})
}

// There is one reservation at a time, and none for a day that has a spare block.
func TestOneReservationAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.numbers[testDay] = 0
		w := newWorker(t, m, newClock(testTime), 10)
		take(t, w, 1)
		b, release := w.current.Load(), m.hold()
		asked := len(m.reservations())
		for range 3 {
			w.prefetch(t.Context(), b)
			synctest.Wait()
		}
		if n := len(m.reservations()) - asked; n != 1 {
			t.Errorf("%d reservations at a time, want 1", n)
		}
		release()
		synctest.Wait()
		w.prefetch(t.Context(), b)
		synctest.Wait()
		if n := len(m.reservations()) - asked; n != 1 {
			t.Errorf("%d reservations with a spare block, want 1", n)
		}
	})
}

// Midnight passes while a reservation of the old day hangs, which then fails: its waiters get numbers of the new day.
func TestFailedReservationOfAnotherDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := newMemory(), newClock(testTime)
		m.numbers[testDay] = 0
		w := newWorker(t, m, c, 10)
		take(t, w, 7)
		release := m.hold()
		take(t, w, 1) // asks for the next block
		synctest.Wait()
		c.add(4 * time.Hour)
		m.do(func() { m.numbers["2026:11:12"] = 0 })
		var err error
		var waiting sync.WaitGroup
		waiting.Go(func() { _, err = w.Next(t.Context()) })
		synctest.Wait()
		m.do(func() { m.fails, m.failures = errors.New("away"), 1 })
		release()
		waiting.Wait()
		if err != nil {
			t.Errorf("Next after a failed reservation of the day before: %v", err)
		}
	})
}

// A counter that lost data is noticed on any day, also after the worker has served more days than it remembers.
func TestLostDataAfterDays(t *testing.T) {
	t.Parallel()
	m, c := newMemory(), newClock(testTime)
	w := newWorker(t, m, c, 10)
	var ids []int64
	for range 6 {
		ids = append(ids, take(t, w, 25)...)
		m.do(func() {
			for day := range m.numbers {
				m.numbers[day] -= 20
			}
		})
		ids = append(ids, take(t, w, 25)...)
		c.add(24 * time.Hour)
	}
	allDistinct(t, ids)
}

func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	const goroutines, each = 32, 2000
	m := newMemory()
	w := New(m, m, testKey, Options{BlockSize: 97})
	ids := make([][]int64, goroutines)
	var wg sync.WaitGroup
	for g := range ids {
		wg.Go(func() {
			for range each {
				id, err := w.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				ids[g] = append(ids[g], id)
			}
		})
	}
	// Meanwhile the counter is lost, or leaps.
	wg.Go(func() {
		for i := range 40 {
			<-m.arrived
			m.do(func() {
				if i%2 == 0 {
					clear(m.numbers)
				}
				for day := range m.numbers {
					m.moved[day] = true
				}
			})
		}
	})
	wg.Wait()
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	all := slices.Concat(ids...)
	if len(all) != goroutines*each {
		t.Errorf("%d ids, want %d", len(all), goroutines*each)
	}
	allDistinct(t, all)
}

// TestNextDoesNotAllocate is not parallel, because allocations are counted for the whole process.
func TestNextDoesNotAllocate(t *testing.T) {
	m := newMemory()
	w := New(m, m, testKey, Options{})
	ctx := t.Context()
	if err := w.Warm(ctx); err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(1000, func() { _, _ = w.Next(ctx) }); got != 0 {
		t.Errorf("%v allocations an id, want none", got)
	}
	if err := w.Close(ctx); err != nil {
		t.Error(err)
	}
}

func BenchmarkNext(b *testing.B) {
	for name, parallel := range map[string]bool{"one": false, "parallel": true} {
		b.Run(name, func(b *testing.B) {
			m := newMemory()
			m.arrived = make(chan struct{}, 1<<20)
			w := New(m, m, testKey, Options{})
			ctx := b.Context()
			b.ReportAllocs()
			if parallel {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := w.Next(ctx); err != nil {
							b.Error(err)
							return
						}
					}
				})
			} else {
				for b.Loop() {
					if _, err := w.Next(ctx); err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := w.Close(context.WithoutCancel(ctx)); err != nil {
				b.Error(err)
			}
		})
	}
}

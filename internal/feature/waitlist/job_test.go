package waitlist

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
)

// Turns go on while something is due, with order ids where those are missing, and have Redis asked.
func TestTake(t *testing.T) {
	t.Parallel()
	f := soldOut()
	f.passes = []Pass{{Invited: 250, More: true}, {NeedsIDs: true}, {Accepted: 3}}
	if err := f.turns().Take(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.turnsDone, []int{0, 0, turnPlaces}) || f.requested != 1 {
		t.Errorf("turns with %v ids, and %d flushes", f.turnsDone, f.requested)
	}
	f.passes, f.idErr = []Pass{{NeedsIDs: true}}, errors.New("away")
	if err := f.turns().Take(t.Context(), 7); !errors.Is(err, f.idErr) {
		t.Errorf("without order ids: %v", err)
	}
}

// A ledger that hangs is unavailable. A caller who gives up first gets their own error.
func TestTakeOfAHangingLedger(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		patience    time.Duration
		unavailable bool
	}{"the turn's time is over": {2 * turnTimeout, true}, "the caller's is": {turnTimeout / 2, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := soldOut()
				f.hangs = true
				ctx, cancel := context.WithTimeout(t.Context(), tt.patience)
				defer cancel()
				err := f.turns().Take(ctx, 7)
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, order.ErrUnavailable) != tt.unavailable {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// started runs a job until the test ends, inside a bubble.
func started(t *testing.T, f *fakeStores) *Job {
	t.Helper()
	j := NewJob(f.turns(), f.Due, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- j.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return j
}

func (f *fakeStores) turnsTaken() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.turnsDone)
}

// The job takes turns at once when it is woken, and within a tenth of a second when something is due.
func TestJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := soldOut()
		j := started(t, f)
		began := time.Now()
		j.Wake(7)
		synctest.Wait()
		if f.turnsTaken() != 1 || time.Since(began) != 0 {
			t.Errorf("%d turns after %s", f.turnsTaken(), time.Since(began))
		}
		f.mu.Lock()
		f.due = []int64{7, 8}
		f.mu.Unlock()
		time.Sleep(lookEvery)
		synctest.Wait()
		if f.turnsTaken() != 3 {
			t.Errorf("%d turns, want 3", f.turnsTaken())
		}
	})
}

// A list that fails is left alone for a second; so is the ledger when looking fails.
func TestJobSparesWhatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := soldOut()
		f.err = errors.New("away")
		j := started(t, f)
		for range 9 {
			j.Wake(7)
			time.Sleep(spared / 10)
			synctest.Wait()
		}
		if f.turnsTaken() != 1 {
			t.Errorf("%d turns of a list that fails", f.turnsTaken())
		}
		time.Sleep(spared)
		j.Wake(7)
		synctest.Wait()
		if f.turnsTaken() != 2 {
			t.Errorf("%d turns, want a second one", f.turnsTaken())
		}
		f.mu.Lock()
		f.dueErr, f.looks = errors.New("away"), 0
		f.mu.Unlock()
		time.Sleep(10 * spared)
		synctest.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.looks > 11 {
			t.Errorf("%d looks in ten seconds at a ledger that is away", f.looks)
		}
	})
}

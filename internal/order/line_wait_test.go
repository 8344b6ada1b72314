package order

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A Redis that has become slow is asked for no more than it can answer in time: five times as many come as it serves.
// Those who are taken in wait as long as they may expect to, and little more; the others are told at once.
func TestLineStaysShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const (
			callTime = 500 * time.Millisecond
			between  = 20 * time.Millisecond
			crowd    = 51 // so 2,550 come each second, and 512 are served
		)
		l := newTestLine(t, func(_ context.Context, b Batch) (Verdict, error) {
			time.Sleep(callTime)
			return acceptAll(b), nil
		})
		var (
			joined          sync.WaitGroup
			mu              sync.Mutex
			served, refused int
			longest         time.Duration
		)
		join := func(user int64) {
			joined.Go(func() {
				began := time.Now()
				_, err := l.join(t.Context(), Applicant{UserID: user, OrderID: user}, Mark{})
				took := time.Since(began)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					served++
					longest = max(longest, took)
				case !errors.Is(err, ErrUnavailable) || took != 0:
					t.Errorf("refused after %s: %v", took, err)
				default:
					refused++
				}
			})
		}
		user := int64(0)
		for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(between) {
			for range crowd {
				user++
				join(user)
			}
		}
		joined.Wait()
		// The pace is learned over some calls, and the call under way has to end.
		if longest < lineWait/2 || longest > lineWait+4*callTime {
			t.Errorf("waited up to %s, want some %s", longest, lineWait)
		}
		if want := 30 * int(MaxBatch*time.Second/callTime); served < want*9/10 || refused < want*2 {
			t.Errorf("%d served and %d refused, want some %d served", served, refused, want)
		}
		// What was learned is forgotten with the rush.
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.pace != 0 || l.served || len(l.waiting) > 0 {
			t.Errorf("afterwards: pace %s, served %t, %d waiting", l.pace, l.served, len(l.waiting))
		}
	})
}

// One slow call sends nobody home: a disk is flushed, and the next call is as quick as those before.
func TestLineForgivesOneSlowCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := newTestLine(t, func(_ context.Context, b Batch) (Verdict, error) {
			took := 5 * time.Millisecond
			if calls++; calls == 20 {
				took = 600 * time.Millisecond
			}
			time.Sleep(took)
			return acceptAll(b), nil
		})
		var joined sync.WaitGroup
		for begin := time.Now(); time.Since(begin) < 2*time.Second; time.Sleep(5 * time.Millisecond) {
			for range 20 { // 4,000 a second
				joined.Go(func() {
					if _, err := l.join(t.Context(), Applicant{UserID: 1, OrderID: 1}, Mark{}); err != nil {
						t.Errorf("refused: %v", err)
					}
				})
			}
		}
		joined.Wait()
		if calls < 20 {
			t.Errorf("%d calls", calls)
		}
	})
}

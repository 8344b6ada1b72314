package periodic

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// f is called after each interval and whenever wake receives a value, not before, and never after ctx has ended.
func TestEveryOr(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begin, wake, done := time.Now(), make(chan struct{}), make(chan error)
		var called []time.Duration
		go func() {
			done <- EveryOr(ctx, time.Second, wake, func(context.Context) {
				if called = append(called, time.Since(begin)); len(called) == 2 {
					time.Sleep(2500 * time.Millisecond) // misses two ticks: one is made up for
				}
			})
		}()
		time.Sleep(5500 * time.Millisecond)
		wake <- struct{}{}
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := []time.Duration{
			1 * time.Second, 2 * time.Second, 4500 * time.Millisecond, 5 * time.Second, 5500 * time.Millisecond,
		}
		if len(called) != len(want) {
			t.Fatalf("called after %v, want %v", called, want)
		}
		for i := range want {
			if called[i] != want[i] {
				t.Errorf("called after %v, want %v", called, want)
			}
		}
	})
}

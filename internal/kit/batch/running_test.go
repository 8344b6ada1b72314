package batch

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Who waits goes on at the first moment at which nothing runs, whatever begins then.
func TestOthersBeginDuringTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running Running
		running.Wait() // nothing runs
		for range 3 {
			running.Go(func() { time.Sleep(time.Second) })
			start := time.Now()
			running.Go(func() {
				time.Sleep(time.Second / 2)
				running.Go(func() { time.Sleep(time.Second) })
			})
			running.Wait()
			if took := time.Since(start); took != 3*time.Second/2 {
				t.Errorf("waited for %v", took)
			}
		}
	})
}

// As with a job that asks once more whenever it has an answer: a sync.WaitGroup may panic then.
func TestManyBeginDuringTheWait(t *testing.T) {
	t.Parallel()
	var running Running
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for range 20_000 {
			answered := make(chan struct{})
			running.Go(func() { close(answered) })
			<-answered
		}
	}()
	for {
		running.Wait()
		select {
		case <-asked:
			return
		default:
		}
	}
}

// A call that panics fails its own items; the next call is made.
func TestPanicInACall(t *testing.T) {
	t.Parallel()
	var calls int
	b := New(Options{Calls: 1}, func(_ context.Context, items []*Item[int, int]) error {
		if calls++; calls == 1 {
			panic("nonsense")
		}
		items[0].Answer = items[0].Request
		return nil
	})
	if _, err := b.Do(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "nonsense") ||
		!strings.Contains(err.Error(), "running_test.go") {
		t.Errorf("the call that panics: %v", err)
	}
	if got, err := b.Do(t.Context(), 2); got != 2 || err != nil {
		t.Errorf("the next one: %d, %v", got, err)
	}
}

package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// gated is a Batcher whose calls block until the test lets them go.
type gated struct {
	*Batcher[int, int]
	calls [][]int       // the requests of each call
	began chan struct{} // one value for each call
	open  chan error    // the result of the next call
	wg    sync.WaitGroup
}

func newGated(o Options) *gated {
	g := &gated{began: make(chan struct{}, 100), open: make(chan error)}
	var mu sync.Mutex
	g.Batcher = New(o, func(_ context.Context, items []*Item[int, int]) error {
		var requests []int
		for _, it := range items {
			requests = append(requests, it.Request)
			it.Answer = -it.Request
		}
		mu.Lock()
		g.calls = append(g.calls, requests)
		mu.Unlock()
		g.began <- struct{}{}
		return <-g.open
	})
	return g
}

// do starts a caller, and returns where its error will be.
func (g *gated) do(ctx context.Context, t *testing.T, request int) *error {
	t.Helper()
	var err error
	g.wg.Go(func() {
		var answer int
		if answer, err = g.Do(ctx, request); err == nil && answer != -request {
			t.Errorf("request %d: answer %d", request, answer)
		}
	})
	synctest.Wait() // until it waits or its call has begun
	return &err
}

// end lets the call under way and all later ones return err.
func (g *gated) end(err error) {
	for synctest.Wait(); len(g.began) > 0; synctest.Wait() {
		<-g.began
		g.open <- err
	}
	g.wg.Wait()
}

func TestCallersShareTheNextCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"one call at a time":   {Options{Calls: 1}, "[[1] [2 3 4 5 6 7]]"},
		"of three at most":     {Options{Calls: 1, Size: 3}, "[[1] [2 3 4] [5 6 7]]"},
		"two calls at a time":  {Options{Calls: 2}, "[[1] [2] [3 4 5 6 7]]"},
		"more calls than come": {Options{Calls: 9}, "[[1] [2] [3] [4] [5] [6] [7]]"},
		"callers make calls":   {Options{Calls: 2, Inline: true}, "[[1] [2] [3 4 5 6 7]]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGated(tc.options)
				var errs []*error
				for request := range 7 {
					errs = append(errs, g.do(t.Context(), t, request+1))
				}
				g.end(nil)
				for _, err := range errs {
					if *err != nil {
						t.Error(*err)
					}
				}
				if got := fmt.Sprint(g.calls); got != tc.want {
					t.Errorf("calls %s, want %s", got, tc.want)
				}
			})
		})
	}
}

// A caller that gives up while it waits is never sent. A caller that gives up during its call does not learn the
// result.
func TestCallersGiveUp(t *testing.T) {
	t.Parallel()
	for name, inline := range map[string]bool{"goroutines call": false, "callers call": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGated(Options{Calls: 1, Inline: inline})
				ctx, cancel := context.WithCancel(t.Context())
				over, end := context.WithCancel(t.Context())
				end()
				ended := g.do(over, t, 9) // cancelled beforehand
				first := g.do(t.Context(), t, 1)
				second, third := g.do(ctx, t, 2), g.do(t.Context(), t, 3)
				cancel()
				synctest.Wait()
				if !errors.Is(*second, ErrNotSent) || !errors.Is(*second, context.Canceled) ||
					!errors.Is(*ended, ErrNotSent) {
					t.Errorf("gave up while waiting: %v, %v", *second, *ended)
				}
				<-g.began
				g.open <- nil
				synctest.Wait()
				during, cancel := context.WithCancel(t.Context())
				fourth := g.do(during, t, 4)
				g.open <- nil // ends the call of request 3
				<-g.began
				synctest.Wait()
				cancel()
				synctest.Wait()
				if !errors.Is(*fourth, context.Canceled) || errors.Is(*fourth, ErrNotSent) {
					t.Errorf("gave up during its call: %v", *fourth)
				}
				g.end(nil)
				if got, want := fmt.Sprint(g.calls), "[[1] [3] [4]]"; got != want || *first != nil || *third != nil {
					t.Errorf("calls %s, want %s; errors %v, %v", got, want, *first, *third)
				}
			})
		})
	}
}

func TestFailedCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		failWaiting bool
		want        string
	}{
		"the others are tried":     {false, "[[1] [2 3]]"},
		"the others are not tried": {true, "[[1]]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGated(Options{Calls: 1, FailWaiting: tc.failWaiting})
				first, second, third := g.do(t.Context(), t, 1), g.do(t.Context(), t, 2), g.do(t.Context(), t, 3)
				g.end(errCall)
				if !errors.Is(*first, errCall) {
					t.Errorf("its call failed: %v", *first)
				}
				for _, err := range []error{*second, *third} {
					if errors.Is(err, ErrNotSent) != tc.failWaiting || errors.Is(err, errCall) == tc.failWaiting {
						t.Errorf("waiting behind a failed call: %v", err)
					}
				}
				if got := fmt.Sprint(g.calls); got != tc.want {
					t.Errorf("calls %s, want %s", got, tc.want)
				}
			})
		})
	}
}

// A caller that makes its own call learns the result, even if its context ends during the call.
func TestOwnCallTakesUntilTheEnd(t *testing.T) {
	t.Parallel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			b := New(Options{Calls: 1, Inline: true}, func(ctx context.Context, _ []*Item[int, int]) error {
				<-ctx.Done()
				return errCall
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := b.Do(ctx, 1); !errors.Is(err, errCall) {
				t.Errorf("%v, want the call's error", err)
			}
		})
	}
}

// Slow calls are noticed while they go on, and forgotten after the rush: the requests that are sent wait little longer
// than MaxWait, and the others are refused at once.
func TestExpectedWaitIsBounded(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			const size, takes, maxWait = 10, time.Second, 5 * time.Second
			b := New(Options{Size: size, Calls: calls, MaxWait: maxWait},
				func(context.Context, []*Item[int, int]) error {
					time.Sleep(takes)
					return nil
				})
			var all sync.WaitGroup
			var sent, refused atomic.Int64
			var mu sync.Mutex
			var longest time.Duration
			begin := time.Now()
			for range 30 * size {
				for range 2 * calls { // twice as many as can be served
					all.Go(func() {
						start := time.Now()
						_, err := b.Do(t.Context(), 0)
						took := time.Since(start)
						switch {
						case err == nil:
							sent.Add(1)
							mu.Lock()
							defer mu.Unlock()
							if start.Sub(begin) > 10*takes { // by then the call time is known
								longest = max(longest, took)
							}
						case errors.Is(err, ErrNotSent) && took == 0:
							refused.Add(1)
						default:
							t.Errorf("after %v: %v", took, err)
						}
					})
				}
				time.Sleep(takes / size)
			}
			all.Wait()
			synctest.Wait()
			if longest < maxWait-takes || longest > maxWait+takes {
				t.Errorf("%d calls at once: waited for up to %v, want some %v", calls, longest, maxWait)
			}
			if s, r := sent.Load(), refused.Load(); s < int64(30*size*calls) || r < int64(20*size*calls) {
				t.Errorf("%d calls at once: %d sent, %d refused", calls, s, r)
			}
			if b.callTime != 0 || b.calls != 0 {
				t.Errorf("the call time is still %v", b.callTime)
			}
		})
	}
}

// Go does not wait for the call. The call's context has the caller's values but does not end with it.
func TestGoDoesNotWait(t *testing.T) {
	t.Parallel()
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		var running Running
		var got []int
		b := New(Options{Calls: 1, Running: &running, Inline: true},
			func(ctx context.Context, items []*Item[int, int]) error {
				if ctx.Value(key{}) != "here" || ctx.Err() != nil {
					t.Errorf("the call's context: %v, %v", ctx.Value(key{}), ctx.Err())
				}
				time.Sleep(time.Second)
				for _, it := range items {
					got = append(got, it.Request)
				}
				return nil
			})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "here"))
		start := time.Now()
		for request := range 3 {
			b.Go(ctx, request)
			synctest.Wait()
		}
		cancel()
		if took := time.Since(start); took != 0 {
			t.Errorf("waited for %v", took)
		}
		running.Wait()
		if fmt.Sprint(got) != "[0 1 2]" {
			t.Errorf("sent %v", got)
		}
	})
}

// BenchmarkDo measures the overhead of a request, without the call itself.
func BenchmarkDo(b *testing.B) {
	for _, inline := range []bool{false, true} {
		for _, callers := range []int{1, 64, 512} {
			b.Run(fmt.Sprintf("inline=%t/callers=%d", inline, callers), func(b *testing.B) {
				var calls atomic.Int64
				batcher := New(Options{Size: 256, Calls: 1, MaxWait: math.MaxInt64, Inline: inline},
					func(_ context.Context, items []*Item[int64, int64]) error {
						calls.Add(1)
						for _, it := range items {
							it.Answer = it.Request
						}
						return nil
					})
				b.ReportAllocs()
				b.ResetTimer()
				var next atomic.Int64
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
							if got, err := batcher.Do(b.Context(), n); err != nil || got != n {
								b.Error(got, err)
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/float64(calls.Load()), "requests/call")
			})
		}
	}
}

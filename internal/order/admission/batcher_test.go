package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
)

// decider answers for the script about one sale.
type decider = func(ctx context.Context, b gate.Batch) (gate.BatchResult, error)

// newTestSale returns a sale whose requests are decided so.
func newTestSale(t testing.TB, decide decider) *sale {
	t.Helper()
	return newTestAdmission(t, ordertest.EachSale(decide)).sale(order.SaleRef{VoucherID: ordertest.VoucherA})
}

// newTestAdmission returns an admission without a catalog whose calls are answered by the gate.
func newTestAdmission(t testing.TB, gate Gate) *Admission {
	t.Helper()
	a := New(Stores{Gate: gate}, nil, nil, ordertest.NopObserver{}, 10, ordertest.Quiet())
	t.Cleanup(a.Close)
	return a
}

// ask is join for a request that comes now, with a sale that the ledger has no mark of.
func (s *sale) ask(ctx context.Context, user int64) (gate.Result, error) {
	return s.join(ctx, gate.Request{UserID: user, OrderID: 1000 + user}, order.Mark{}, time.Now())
}

// acceptAll answers as the script does when it accepts every request.
func acceptAll(b gate.Batch) gate.BatchResult {
	return gate.BatchResult{Results: make([]gate.Result, len(b.Requests))}
}

// joining is a request that waits for its outcome.
type joining struct {
	answered bool
	outcome  gate.Outcome
	err      error
}

// joinAll sends a request for each user, in that order, and returns the results once the bubble is idle.
func joinAll(ctx context.Context, s *sale, users ...int64) []*joining {
	all := make([]*joining, len(users))
	for i, user := range users {
		all[i] = new(joining)
		go func() {
			result, err := s.ask(ctx, user)
			*all[i] = joining{answered: true, outcome: result.Outcome, err: err}
		}()
		synctest.Wait()
	}
	return all
}

// users returns the user ids from 1 to last.
func users(last int64) []int64 {
	var all []int64
	for user := int64(1); user <= last; user++ {
		all = append(all, user)
	}
	return all
}

// Requests that come while a call is under way share the next one, at most gate.MaxBatch of them, in the order of
// arrival.
func TestBatcherSharesCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var sizes []int
		var sent []int64
		s := newTestSale(t, func(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
			<-release
			sizes = append(sizes, len(b.Requests))
			for _, r := range b.Requests {
				sent = append(sent, r.UserID)
			}
			return acceptAll(b), nil
		})
		all := joinAll(t.Context(), s, users(301)...)
		close(release)
		synctest.Wait()
		for i, got := range all {
			if got.err != nil || got.outcome != gate.Accepted {
				t.Errorf("user %d: %+v", i+1, got)
			}
		}
		if got, want := fmt.Sprint(sizes), "[1 256 44]"; got != want {
			t.Errorf("calls had %s requests, want %s", got, want)
		}
		if got, want := fmt.Sprint(sent), fmt.Sprint(users(301)); got != want {
			t.Errorf("requests were sent in the order %s", got)
		}
	})
}

func TestBatcherRepeatsOnceAndNeverGuesses(t *testing.T) {
	t.Parallel()
	reset := errors.New("connection reset")
	refused := fmt.Errorf("%w: connection refused", order.ErrUnavailable)
	panics := errors.New("panics")
	for name, tc := range map[string]struct {
		answers   []error // of the calls, in turn
		says      gate.Outcome
		want      error // nil for success
		wantSays  gate.Outcome
		wantCalls int
	}{
		"a refusal": {answers: []error{nil}, says: gate.SoldOut, wantSays: gate.SoldOut, wantCalls: 1},
		"only the repetition is refused: outcome unknown": {
			answers: []error{reset, nil}, says: gate.SoldOut, wantSays: gate.Doubtful, wantCalls: 2,
		},
		"the repetition finds the sale ended: final": {
			answers: []error{reset, nil}, says: gate.Ended, wantSays: gate.Ended, wantCalls: 2,
		},
		"the repetition finds the first call's order": {
			answers: []error{reset, nil}, says: gate.AlreadyBought, wantSays: gate.AlreadyBought, wantCalls: 2,
		},
		"answered":                               {answers: []error{nil}, wantCalls: 1},
		"a lost answer makes it repeat the call": {answers: []error{reset, nil}, wantCalls: 2},
		"both answers lost: outcome unknown": {
			answers: []error{reset, reset}, want: order.ErrUnknownOutcome, wantCalls: 2,
		},
		"first lost, second without effect: outcome unknown": {
			answers: []error{reset, refused}, want: order.ErrUnknownOutcome, wantCalls: 2,
		},
		"a call that panics is repeated": {answers: []error{panics, nil}, wantCalls: 2},
		"no effect at once: unavailable": {answers: []error{refused}, want: order.ErrUnavailable, wantCalls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var batches []gate.Batch
			s := newTestSale(t, func(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
				batches = append(batches, b)
				if err := tc.answers[len(batches)-1]; errors.Is(err, panics) {
					panic(err)
				} else if err != nil {
					return gate.BatchResult{}, err
				}
				v := acceptAll(b)
				v.Results[0].Outcome = tc.says
				return v, nil
			})
			got, err := s.join(t.Context(), gate.Request{UserID: 1, OrderID: 10},
				order.Mark{Epoch: 3, Sequence: 4}, time.Now())
			if got.Outcome != tc.wantSays {
				t.Errorf("outcome %d, want %d", got.Outcome, tc.wantSays)
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("error = %v, want %v", err, tc.want)
			}
			if tc.want != nil && errors.Is(err, order.ErrUnavailable) && errors.Is(err, order.ErrUnknownOutcome) {
				t.Errorf("error %v wraps both ErrUnknownOutcome and ErrUnavailable", err)
			}
			if len(batches) != tc.wantCalls {
				t.Fatalf("%d calls, want %d", len(batches), tc.wantCalls)
			}
			for _, b := range batches {
				if b.Known != (order.Mark{Epoch: 3, Sequence: 4}) ||
					b.Requests[0] != (gate.Request{UserID: 1, OrderID: 10}) {
					t.Errorf("call with %+v", b)
				}
			}
		})
	}
}

// When a call fails, the requests that wait behind it are refused at once: they certainly bought nothing. They are
// counted as unavailable.
func TestBatcherRefusesBehindAFailedCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		calls := 0
		s := newTestSale(t, func(context.Context, gate.Batch) (gate.BatchResult, error) {
			calls++
			<-release
			return gate.BatchResult{}, errors.New("no answer")
		})
		all := joinAll(t.Context(), s, users(301)...)
		close(release)
		synctest.Wait()
		for i, got := range all {
			want := order.ErrUnavailable
			if i == 0 {
				want = order.ErrUnknownOutcome
			}
			if !errors.Is(got.err, want) || errors.Is(got.err, order.ErrUnavailable) &&
				errors.Is(got.err, order.ErrUnknownOutcome) {
				t.Errorf("user %d: error = %v, want %v", i+1, got.err, want)
			}
		}
		if calls != 2 {
			t.Errorf("%d calls, want one and its repetition", calls)
		}
		if counts, _, _ := s.counts.counts(); counts.counts[gate.Doubtful.Answer()] != 1 ||
			counts.counts[gate.Unavailable.Answer()] != 300 {
			t.Errorf("counted %v", counts)
		}
	})
}

// Each call carries the highest mark seen so far, in Redis or in the ledger.
func TestBatcherKnowsTheHighestMark(t *testing.T) {
	t.Parallel()
	marks := []order.Mark{{Epoch: 2, Sequence: 9}, {Epoch: 2, Sequence: 4}, {Epoch: 3, Sequence: 0}, {}}
	recorded := []order.Mark{
		{Epoch: 1, Sequence: 5}, {Epoch: 1, Sequence: 5}, {Epoch: 1, Sequence: 5}, {Epoch: 3, Sequence: 7},
	}
	var known, seen []order.Mark
	s := newTestSale(t, func(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
		known = append(known, b.Known)
		v := acceptAll(b)
		v.View.Mark = marks[len(known)-1]
		return v, nil
	})
	for i := range marks {
		user := int64(i) + 1
		request := gate.Request{UserID: user, OrderID: user}
		if _, err := s.join(t.Context(), request, recorded[i], time.Now()); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, *s.seen.Load())
	}
	if got, want := fmt.Sprint(known), "[{1 5} {2 9} {2 9} {3 7}]"; got != want {
		t.Errorf("the calls had the marks %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(seen), "[{2 9} {2 9} {3 0} {3 0}]"; got != want {
		t.Errorf("the marks seen in Redis are %s, want %s", got, want)
	}
}

// A slow Redis gets no more requests than it can answer in time, although five times as many come. Those that the
// batcher takes wait for little more than maxWait at most; it refuses the others at once.
func TestBatcherBoundsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const (
			callTime = 500 * time.Millisecond
			between  = 20 * time.Millisecond
			together = 51 // so 2,550 come each second, and 512 are served
		)
		s := newTestSale(t, func(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
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
				_, err := s.ask(t.Context(), user)
				took := time.Since(began)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					served++
					longest = max(longest, took)
				case !errors.Is(err, order.ErrUnavailable) || took != 0:
					t.Errorf("refused after %s: %v", took, err)
				default:
					refused++
				}
			})
		}
		user := int64(0)
		for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(between) {
			for range together {
				user++
				join(user)
			}
		}
		joined.Wait()
		// The batcher learns a call's duration over several calls, and the call under way has to end.
		if longest < maxWait/2 || longest > maxWait+4*callTime {
			t.Errorf("waited up to %s, want some %s", longest, maxWait)
		}
		if want := 30 * int(gate.MaxBatch*time.Second/callTime); served < want*9/10 || refused < want*2 {
			t.Errorf("%d served and %d refused, want some %d served", served, refused, want)
		}
		if counts, _, _ := s.counts.counts(); counts.counts[gate.Unavailable.Answer()] != int64(refused) {
			t.Errorf("counted %v", counts)
		}
	})
}

// One slow call makes the batcher refuse nobody: perhaps a disk was flushed, and the next call is as fast as before.
func TestBatcherForgivesOneSlowCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := newTestSale(t, func(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
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
					if _, err := s.ask(t.Context(), 1); err != nil {
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

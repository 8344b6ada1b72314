package admission

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
)

// A buyer who gives up before their request is sent is certainly not admitted. The request of one who gives up later
// waits for its outcome, because guards count it; a question about an order does not.
func TestBatcherAndBuyersWhoGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var admitted []int64
		s := newTestSale(t, func(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
			<-release
			for _, r := range b.Requests {
				admitted = append(admitted, r.UserID)
			}
			return acceptAll(b), nil
		})
		ctx, giveUp := context.WithCancel(t.Context())
		both := joinAll(ctx, s, 1, 2)
		giveUp()
		synctest.Wait()
		if both[0].answered {
			t.Errorf("gave up during the call: %+v before the call was answered", both[0])
		}
		if err := both[1].err; !errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrUnknownOutcome) {
			t.Errorf("gave up before the call: error = %v, want ErrUnavailable", err)
		}
		close(release)
		synctest.Wait()
		if got := both[0]; !got.answered || got.err != nil || got.outcome != gate.Accepted {
			t.Errorf("gave up during the call: %+v, want accepted", got)
		}
		if got, want := fmt.Sprint(admitted), "[1]"; got != want {
			t.Errorf("admitted %s, want %s", got, want)
		}
	})
}

// A question about a user's order ends with its caller, even during its call. A request for units ends when Redis could
// have answered twice.
func TestCallersWhoHaveGoneWait(t *testing.T) {
	t.Parallel()
	for orderID, want := range map[int64]time.Duration{0: 0, 1001: 2 * order.AdmissionTimeout} {
		t.Run(fmt.Sprint(orderID), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { goDuringTheCall(t, orderID, want) })
		})
	}
}

func goDuringTheCall(t *testing.T, orderID int64, want time.Duration) {
	release := make(chan struct{})
	s := newTestSale(t, func(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
		<-release
		return acceptAll(b), nil
	})
	ctx, giveUp := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := s.join(ctx, gate.Request{UserID: 1, OrderID: orderID}, order.Mark{}, time.Now())
		asked <- err
	}()
	synctest.Wait()
	giveUp()
	gone := time.Now()
	if err := <-asked; !errors.Is(err, order.ErrUnknownOutcome) {
		t.Errorf("error = %v, want ErrUnknownOutcome", err)
	}
	if took := time.Since(gone); took != want {
		t.Errorf("waited for %s, want %s", took, want)
	}
	close(release)
}

// While Redis hangs, callers who have gone hold few of the server's permits and connections: only those in a call wait.
// The calls of a partition have room for 512 of them, and none waits for longer than a call may take.
func TestFewOfThoseWhoHaveGoneWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers, sales = 5000, 10
		all := make(chan struct{}) // closed once all are there
		a := newTestAdmission(t, func(ctx context.Context, batches []gate.Batch) ([]gate.BatchResult, error) {
			select {
			case <-all:
				<-ctx.Done()
				return nil, ctx.Err()
			default: // the first calls have few requests
				<-all
				results := make([]gate.BatchResult, len(batches))
				for i, b := range batches {
					results[i] = acceptAll(b)
				}
				return results, nil
			}
		})
		ctx, giveUp := context.WithCancel(t.Context())
		var waiting atomic.Int64
		for n := range int64(callers) {
			s := a.sale(order.SaleRef{VoucherID: ordertest.VoucherA + n%sales})
			waiting.Add(1)
			go func() {
				defer waiting.Add(-1)
				_, _ = s.ask(ctx, n+1)
			}()
		}
		synctest.Wait()
		close(all)
		synctest.Wait()
		giveUp()
		const most = maxCalls * gate.MaxBatch
		for range 2 { // the call, and its repetition
			synctest.Wait()
			if n := waiting.Load(); n < most/2 || n > most {
				t.Errorf("%d wait for the answer to their call, want %d at most", n, most)
			}
			time.Sleep(order.AdmissionTimeout)
		}
		synctest.Wait()
		if n := waiting.Load(); n > 0 {
			t.Errorf("%d wait for longer than the call and its repetition", n)
		}
	})
}

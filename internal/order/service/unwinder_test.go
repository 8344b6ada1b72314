package service

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

// fakeUnwindings are the orders to unwind of one sale, by id.
type fakeUnwindings struct {
	mu    sync.Mutex
	left  []int64
	calls int
	over  bool // the sale is retired
}

func (f *fakeUnwindings) SalesToUnwind(context.Context) ([]int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return nil, nil
	}
	return []int64{ordertest.VoucherA}, nil
}

func (f *fakeUnwindings) Unwind(
	_ context.Context, _, _, above int64, n int,
) (unwound []order.Order, last int64, err error) {
	time.Sleep(50 * time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	var left []int64
	for _, id := range f.left {
		if id <= above || len(unwound) == n {
			left = append(left, id)
			continue
		}
		unwound, last = append(unwound, order.Order{ID: id, Status: order.Refunding}), id
	}
	f.left = left
	return unwound, last, nil
}

// The unwinder goes through a sale's orders batch by batch, asks for refunds, and then rests a hundred times as long as
// a look took. It meets what comes later, also below the orders it has seen, until the sale is retired.
func TestUnwinder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, f, refunds := newOrderParts(t), &fakeUnwindings{}, 0
		for id := int64(1000); id < 1000+5*unwindBatch/2; id++ {
			f.left = append(f.left, id)
		}
		u := &Unwinder{
			Ledger: f, Locker: new(fakeFence).TryDoFenced, Outbox: p.outbox, Notifier: p.notifier,
			Refunds: func() { refunds++ }, Log: ordertest.Quiet(),
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- u.Run(ctx) }()
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if len(f.left) != 0 || refunds != 3 || f.calls > 6 {
			t.Errorf("%d are left, refunds asked for %d times, looked %d times", len(f.left), refunds, f.calls)
		}
		f.mu.Lock()
		before := f.calls
		f.left = []int64{5}
		f.mu.Unlock()
		time.Sleep(unwindRest*50*time.Millisecond + 2*time.Second)
		synctest.Wait()
		if len(f.left) != 0 || f.calls-before > 4 {
			t.Errorf("%v is left after a rest, looked %d times", f.left, f.calls-before)
		}
		f.mu.Lock()
		f.over, before = true, f.calls
		f.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if f.calls != before {
			t.Errorf("looked %d times at a retired sale", f.calls-before)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.catalog.Close()
	})
}

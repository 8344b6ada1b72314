package service

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/guard"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// fakeGuardCounts keeps counts, and fails as it is told to.
type fakeGuardCounts struct {
	units int64
	fails error // of every call
}

func (f *fakeGuardCounts) AddGuardCounts(_ context.Context, sale order.SaleRef, d *guard.Delta) error {
	if f.fails == nil && sale.VoucherID == ordertest.VoucherA {
		f.units += d.Counts["units:unknown"]
	}
	return f.fails
}

// Each second what is new is added once; what certainly did not arrive is added later, what may have arrived never
// again.
func TestGuardFlusher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := ordertest.VoucherAt(1, 0)
		catalog := catalog.New(nil)
		defer catalog.Close()
		catalog.SetSales([]voucher.Voucher{v})
		tally, store := guard.NewTally(time.Now), &fakeGuardCounts{}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- NewGuardFlusher(tally, catalog, store, ordertest.Quiet()).Run(ctx) }()
		for _, step := range []struct {
			fails error
			want  int64
		}{{nil, 1}, {order.ErrUnavailable, 1}, {order.ErrUnavailable, 1}, {nil, 4}, {errors.New("lost"), 4}, {nil, 5}} {
			store.fails = step.fails
			tally.Sold(v.ID, guard.Caller{}, 1)
			time.Sleep(flushGuardsEvery)
			synctest.Wait()
			if store.units != step.want {
				t.Errorf("after %v: %d units, want %d", step.fails, store.units, step.want)
			}
		}
		tally.Sold(v.ID, guard.Caller{}, 1)
		stop()
		if err := <-done; err != nil || store.units != 6 {
			t.Errorf("at the end: %v, %d units, want 6", err, store.units)
		}
	})
}

// hangingCounts are counts of which those in partition 1 cannot be added.
type hangingCounts struct{ added chan order.SaleRef }

func (h hangingCounts) AddGuardCounts(ctx context.Context, sale order.SaleRef, _ *guard.Delta) error {
	if sale.Partition == 1 {
		<-ctx.Done()
		return order.ErrUnavailable
	}
	h.added <- sale
	return nil
}

// While a partition hangs, the counts of the others are added as always.
func TestGuardFlusherGoesPastAHungPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tally, store := guard.NewTally(time.Now), hangingCounts{make(chan order.SaleRef, 100)}
		vs := make([]voucher.Voucher, 20)
		for i := range vs {
			vs[i] = ordertest.VoucherAt(1, 0)
			sale := *vs[i].Sale
			sale.Partition = min(i, 1)
			vs[i].ID, vs[i].Sale = vs[i].ID+int64(i), &sale
			tally.Sold(vs[i].ID, guard.Caller{}, 1)
		}
		catalog := catalog.New(nil)
		defer catalog.Close()
		catalog.SetSales(vs)
		f := NewGuardFlusher(tally, catalog, store, ordertest.Quiet())
		start := time.Now()
		f.flush(t.Context())
		if len(store.added) != 1 || time.Since(start) > flushGuardTimeout {
			t.Errorf("%d sales are counted after %v", len(store.added), time.Since(start))
		}
		if waiting := tally.Take(); len(waiting) != len(vs)-1 {
			t.Errorf("%d sales wait for the next time, want %d", len(waiting), len(vs)-1)
		}
	})
}

package tally

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// severalSales are sales by voucher, of which all are remembered.
type severalSales map[int64]voucher.Voucher

func (s severalSales) Find(_ context.Context, id int64) (voucher.Voucher, error) { return s[id], nil }

// fakeCounts keeps counts, and fails as it is told to.
type fakeCounts struct {
	units int64
	fails error // of every call
}

func (f *fakeCounts) AddCounts(_ context.Context, sale order.SaleRef, d *Delta) error {
	if f.fails == nil && sale.VoucherID == ordertest.VoucherA {
		f.units += d.Counts["units:unknown"]
	}
	return f.fails
}

// Each second what is new is added once; what certainly did not arrive is added later, what may have arrived never
// again.
func TestFlusher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := ordertest.VoucherAt(1, 0)
		tally, store := New(time.Now), &fakeCounts{}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		f := NewFlusher(tally, severalSales{v.ID: v}.Find, store.AddCounts, ordertest.Quiet())
		go func() { done <- f.Run(ctx) }()
		for _, step := range []struct {
			fails error
			want  int64
		}{{nil, 1}, {order.ErrUnavailable, 1}, {order.ErrUnavailable, 1}, {nil, 4}, {errors.New("lost"), 4}, {nil, 5}} {
			store.fails = step.fails
			tally.Sold(v.ID, time.Time{}, netip.Addr{}, 1)
			time.Sleep(flushEvery)
			synctest.Wait()
			if store.units != step.want {
				t.Errorf("after %v: %d units, want %d", step.fails, store.units, step.want)
			}
		}
		tally.Sold(v.ID, time.Time{}, netip.Addr{}, 1)
		stop()
		if err := <-done; err != nil || store.units != 6 {
			t.Errorf("at the end: %v, %d units, want 6", err, store.units)
		}
	})
}

// hangingCounts are counts of which those in partition 1 cannot be added.
type hangingCounts struct{ added chan order.SaleRef }

func (h hangingCounts) AddCounts(ctx context.Context, sale order.SaleRef, _ *Delta) error {
	if sale.Partition == 1 {
		<-ctx.Done()
		return order.ErrUnavailable
	}
	h.added <- sale
	return nil
}

// While a partition hangs, the counts of the others are added as always.
func TestFlusherGoesPastAHungPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tally, store := New(time.Now), hangingCounts{make(chan order.SaleRef, 100)}
		vs, sales := make([]voucher.Voucher, 20), severalSales{}
		for i := range vs {
			vs[i] = ordertest.VoucherAt(1, 0)
			sale := *vs[i].Sale
			sale.Partition = min(i, 1)
			vs[i].ID, vs[i].Sale = vs[i].ID+int64(i), &sale
			sales[vs[i].ID] = vs[i]
			tally.Sold(vs[i].ID, time.Time{}, netip.Addr{}, 1)
		}
		f := NewFlusher(tally, sales.Find, store.AddCounts, ordertest.Quiet())
		start := time.Now()
		f.flush(t.Context())
		if len(store.added) != 1 || time.Since(start) > flushTimeout {
			t.Errorf("%d sales are counted after %v", len(store.added), time.Since(start))
		}
		if waiting := tally.Take(); len(waiting) != len(vs)-1 {
			t.Errorf("%d sales wait for the next time, want %d", len(waiting), len(vs)-1)
		}
	})
}

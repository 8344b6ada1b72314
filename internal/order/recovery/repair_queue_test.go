package recovery

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// taken empties the queue and returns the sales in its order.
func (q *RepairQueue) taken() (ids []int64) {
	for {
		id, _, ok := q.next(Retiring)
		if !ok {
			return ids
		}
		ids = append(ids, id)
	}
}

func TestQueueServesRunningSalesFirst(t *testing.T) {
	t.Parallel()
	q := NewRepairQueue()
	q.sweep(map[int64]Urgency{1: Ended, 2: Ended, 3: Upcoming, 4: Running, 5: Ended})
	q.found(5, Retiring)
	for _, id := range []int64{1, 2, 3, 4, 1} {
		q.RequestRepair(id, order.NoBadEpoch)
	}
	q.RequestRepair(6, order.NoBadEpoch) // unknown as yet: somebody wants to buy there
	if got := q.taken(); !slices.Equal(got, []int64{4, 6, 3, 1, 2, 5}) {
		t.Errorf("the order is %v", got)
	}
}

// A sale whose window begins or ends while it waits becomes more or less urgent.
func TestQueueFollowsTheWindow(t *testing.T) {
	t.Parallel()
	q := NewRepairQueue()
	for id := range int64(3) {
		q.found(id+1, Upcoming)
	}
	q.sweep(map[int64]Urgency{1: Ended, 2: Running, 3: Upcoming})
	if got := q.taken(); !slices.Equal(got, []int64{2, 3, 1}) {
		t.Errorf("the order is %v", got)
	}
}

// A failed sale waits for the next sweep, and then comes before sales that this sweep finds. A sale that was requested
// during the work on it is checked again.
func TestQueueKeepsWhatIsNotDone(t *testing.T) {
	t.Parallel()
	q := NewRepairQueue()
	q.found(1, Running)
	q.found(2, Running)
	q.taken()
	q.RequestRepair(2, 9)
	q.done(1, jobFailed)
	q.done(2, jobDone)
	if got := q.taken(); !slices.Equal(got, []int64{2}) {
		t.Errorf("before the sweep: %v", got)
	}
	q.done(2, jobDone)
	q.sweep(map[int64]Urgency{1: Running, 2: Running})
	q.found(2, Running)
	if got := q.taken(); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("after the sweep: %v", got)
	}
	q.done(1, jobDone)
	q.done(2, jobDone)
	if load := q.Load()[Running]; load.Sales != 0 {
		t.Errorf("%d sales wait at the end", load.Sales)
	}
}

// A failed sale waits for the next sweep, however many callers request it meanwhile: each try costs the stores as much
// as the first.
func TestQueueDelaysWhatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewRepairQueue()
		q.found(1, Running)
		q.taken()
		q.done(1, jobFailed)
		for range 20 {
			time.Sleep(minInterval)
			q.RequestRepair(1, order.NoBadEpoch)
		}
		if got := q.taken(); len(got) > 0 {
			t.Errorf("before the sweep: %v", got)
		}
		q.sweep(map[int64]Urgency{1: Running})
		if got := q.taken(); !slices.Equal(got, []int64{1}) {
			t.Errorf("after it: %v", got)
		}
	})
}

// Ended sales leave room for running ones: a running sale that is reported while thousands of ended ones wait is
// repaired at once.
func TestRunningSalesNeedNotWaitForEndedOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ended = 500
		f := &ordertest.FakeSales{Redis: map[int64]order.SaleView{}}
		for id := range int64(ended + 1) {
			v := ordertest.VoucherAt(3, 9)
			v.ID = id + 1
			sale := *v.Sale
			v.Sale = &sale
			now := ordertest.End.Add(time.Hour)
			if id == ended { // the last one
				v.Sale.End = ordertest.End.Add(2 * time.Hour)
			}
			f.Kept = append(f.Kept, v)
			f.Redis[v.ID] = order.SaleView{Now: now}
		}
		built := builtAt{at: map[int64]time.Time{}}
		f.OnPublish = built.note
		r := newTestReconciler(t, f)
		r.stores.Reports = f
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		start := time.Now()
		go func() { done <- r.Run(ctx) }()
		time.Sleep(1500 * time.Millisecond)
		if took := built.after(ended+1, start); took > 1200*time.Millisecond {
			t.Errorf("the running sale waited for %v", took)
		}
		if r.Ready() != nil || r.Healthy() == nil {
			t.Errorf("ready: %v, healthy: %v; want ready while ended sales wait", r.Ready(), r.Healthy())
		}
		r.repairs.RequestRepair(ended+1, 4) // once more, in the middle of the others
		again := time.Now()
		time.Sleep(1200 * time.Millisecond)
		if took := built.after(ended+1, again); took > 1200*time.Millisecond {
			t.Errorf("the running sale waited for %v behind ended ones", took)
		}
		time.Sleep(ended / maxBackground * 1200 * time.Millisecond)
		if err := r.Healthy(); err != nil {
			t.Errorf("in the end: %v", err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// builtAt records when sales were last published.
type builtAt struct {
	mu sync.Mutex
	at map[int64]time.Time
}

func (b *builtAt) note(voucherID int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at[voucherID] = time.Now()
}

// after returns how long after start the sale was published; an hour if it was not.
func (b *builtAt) after(voucherID int64, start time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := b.at[voucherID]; at.After(start) {
		return at.Sub(start)
	}
	return time.Hour
}

// A sale that cannot be compared or rebuilt does not keep another from being rebuilt, nor the instance from becoming
// ready.
func TestOneBadSaleHarmsNoOther(t *testing.T) {
	t.Parallel()
	bad, good := ordertest.VoucherAt(3, 9), ordertest.VoucherAt(3, 9)
	bad.ID, good.ID = 1, 2
	f := &ordertest.FakeSales{Kept: []voucher.Voucher{bad, good}, BadSale: 1}
	r := newTestReconciler(t, f)
	for range 3 {
		r.sweepAndServe(t.Context())
	}
	if r.Ready() != nil || r.Healthy() == nil || f.Redis[2].Mode != order.SaleOpen {
		t.Errorf("ready: %v, healthy: %v, the other sale %+v", r.Ready(), r.Healthy(), f.Redis[2])
	}
	f.BadSale = 0
	r.sweepAndServe(t.Context())
	if err := r.Healthy(); err != nil || f.Redis[1].Mode != order.SaleOpen {
		t.Errorf("healthy: %v, the sale %+v", err, f.Redis[1])
	}
}

// A sweep hands a sale whose units do not add up at a glance to the auditor, but not one that lacks operations.
func TestSweepSuspects(t *testing.T) {
	t.Parallel()
	v := ordertest.VoucherAt(3, 9)
	v.Sale.Issued, v.Sale.LastOperation = 100, 4
	for name, tc := range map[string]struct {
		stock, buyers, applied int64
		want                   []int64
	}{
		"adds up":                  {stock: 60, buyers: 40, applied: 4},
		"too many units":           {stock: 61, buyers: 40, applied: 4, want: []int64{v.ID}},
		"a holder is missing":      {stock: 60, buyers: 39, applied: 4, want: []int64{v.ID}},
		"behind by a stock change": {stock: 50, buyers: 40, applied: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &ordertest.FakeSales{Kept: []voucher.Voucher{v}, Redis: map[int64]order.SaleView{v.ID: {
				Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: 9}, Stock: tc.stock, Buyers: tc.buyers,
				Applied: tc.applied, Now: ordertest.Begin,
			}}}
			newTestReconciler(t, f).sweep(t.Context())
			if !slices.Equal(f.Suspected, tc.want) {
				t.Errorf("suspected %v, want %v", f.Suspected, tc.want)
			}
		})
	}
}

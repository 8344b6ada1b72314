package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

func newTestReconciler(t *testing.T, f *ordertest.FakeSales) *Reconciler {
	t.Helper()
	if f.Redis == nil {
		f.Redis = map[int64]order.SaleView{}
	}
	f.Before, f.After = map[string]int{}, map[string]int{}
	catalog := catalog.New(f)
	t.Cleanup(catalog.Close)
	return New(Stores{
		Ledger: f, Rows: &ordertest.FakeOrders{Rows: map[int64]order.Order{100: {ID: 100}}}, Reader: f, Builder: f,
		Locker: f, Outbox: f, Suspect: f.Suspect,
	}, catalog, NewRepairQueue(), ordertest.NopObserver{}, ordertest.Quiet())
}

// sweepAndServe sweeps and then does all the work in the queue.
func (r *Reconciler) sweepAndServe(ctx context.Context) {
	r.sweep(ctx)
	var jobs sync.WaitGroup
	for {
		id, u, ok := r.repairs.next(Retiring)
		if !ok {
			break
		}
		jobs.Go(func() { r.work(ctx, id, u) })
	}
	jobs.Wait()
	if r.repairs.waits() > 0 {
		r.sweepAndServe(ctx)
	}
}

// waits returns how many sales wait in the queue.
func (q *RepairQueue) waits() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.state == jobWaits {
			n++
		}
	}
	return n
}

// rebuildTo returns the steps of a rebuild.
func rebuildTo(epoch int64) []string {
	return []string{fmt.Sprint("begin ", epoch), "set holders", "requeue", fmt.Sprint("publish ", epoch)}
}

func TestSweepRebuildsWhatIsWrong(t *testing.T) {
	t.Parallel()
	open := func(epoch, sequence int64) order.SaleView {
		return order.SaleView{
			Mode: order.SaleOpen, Mark: order.Mark{Epoch: epoch, Sequence: sequence}, Now: ordertest.Begin,
		}
	}
	for name, tc := range map[string]struct {
		ledger voucher.Voucher
		redis  order.SaleView
		want   []string
	}{
		"a new sale is opened at epoch 1": {ledger: ordertest.VoucherAt(0, 0), want: rebuildTo(1)},
		"a missing sale":                  {ledger: ordertest.VoucherAt(3, 9), want: rebuildTo(4)},
		"an abandoned rebuild": {ledger: ordertest.VoucherAt(4, 0), redis: order.SaleView{
			Mode: order.SaleRebuilding, Mark: order.Mark{Epoch: 3, Sequence: 9}, Now: ordertest.Begin,
		}, want: rebuildTo(5)},
		"an older epoch": {
			ledger: ordertest.VoucherAt(3, 0), redis: open(2, 50), want: rebuildTo(4),
		},
		"a lost tail": {
			ledger: ordertest.VoucherAt(3, 9), redis: open(3, 8), want: rebuildTo(4),
		},
		"an epoch that the ledger does not know": {
			ledger: ordertest.VoucherAt(3, 9), redis: open(7, 2), want: rebuildTo(8),
		},
		"Redis ahead by admissions is normal": {ledger: ordertest.VoucherAt(3, 9), redis: open(3, 20)},
		"a paused sale needs nothing": {ledger: ordertest.VoucherAt(3, 9), redis: order.SaleView{
			Mode: order.SalePaused, Mark: order.Mark{Epoch: 3, Sequence: 9}, Now: ordertest.Begin,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &ordertest.FakeSales{
				Kept: []voucher.Voucher{tc.ledger}, Redis: map[int64]order.SaleView{ordertest.VoucherA: tc.redis},
			}
			r := newTestReconciler(t, f)
			r.sweepAndServe(t.Context())
			if diff := cmp.Diff(tc.want, f.Built); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if err := r.Ready(); err != nil {
				t.Errorf("not ready: %v", err)
			}
		})
	}
}

// The next sweep finishes a rebuild that died at any step, under the next epoch.
func TestSweepFinishesAnInterruptedRebuild(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"raise", "begin", "snapshot", "set holders", "requeue", "publish"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			f := &ordertest.FakeSales{Kept: []voucher.Voucher{ordertest.VoucherAt(0, 0)}}
			r := newTestReconciler(t, f)
			f.Before[step] = 1
			r.sweepAndServe(t.Context())
			if r.Healthy() == nil || r.Ready() != nil {
				t.Errorf("healthy: %v, ready: %v; want unhealthy, but ready since it has tried", r.Healthy(), r.Ready())
			}
			r.sweepAndServe(t.Context())
			if err := r.Ready(); err != nil {
				t.Errorf("not ready after the second sweep: %v", err)
			}
			if view := f.Redis[ordertest.VoucherA]; view.Mode != order.SaleOpen ||
				view.Mark.Epoch != f.Kept[0].Sale.Epoch {
				t.Errorf("Redis holds %+v, the ledger epoch %d", view, f.Kept[0].Sale.Epoch)
			}
		})
	}
}

func TestReadyOutlastsALaterFault(t *testing.T) {
	t.Parallel()
	f := &ordertest.FakeSales{Kept: []voucher.Voucher{ordertest.VoucherAt(0, 0)}}
	r := newTestReconciler(t, f)
	if r.Ready() == nil {
		t.Error("ready before the first sweep")
	}
	r.sweepAndServe(t.Context())
	f.Before["sales"] = 1
	r.sweepAndServe(t.Context())
	if r.Ready() != nil || r.Healthy() == nil {
		t.Errorf("ready: %v, healthy: %v; want ready and unhealthy", r.Ready(), r.Healthy())
	}
}

// A bad epoch is rebuilt once, however often it is reported.
func TestRepairRebuildsABadEpochOnce(t *testing.T) {
	t.Parallel()
	f := &ordertest.FakeSales{
		Kept: []voucher.Voucher{ordertest.VoucherAt(3, 5)},
		Redis: map[int64]order.SaleView{
			ordertest.VoucherA: {Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: 9}, Now: ordertest.Begin},
		},
	}
	r := newTestReconciler(t, f)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	for range 5 {
		r.repairs.RequestRepair(ordertest.VoucherA, order.NoBadEpoch)
		r.repairs.RequestRepair(ordertest.VoucherA, 3)
	}
	ordertest.WaitUntil(t, func() bool {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		return len(f.Built) > 0 && f.Redis[ordertest.VoucherA].Mode == order.SaleOpen && r.repairs.waits() == 0
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(rebuildTo(4), f.Built); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// Half a million refused buyers request the same repair; the reconciler checks at most ten times a second.
func TestRepairRequestsAreLimited(t *testing.T) {
	t.Parallel()
	r := newTestReconciler(t, &ordertest.FakeSales{Kept: []voucher.Voucher{ordertest.VoucherAt(3, 5)}})
	for range 3 {
		r.repairs.RequestRepair(ordertest.VoucherA, order.NoBadEpoch)
	}
	if waits := r.repairs.waits(); waits != 1 {
		t.Fatalf("%d requests wait, want 1", waits)
	}
	if _, _, ok := r.repairs.next(Retiring); !ok {
		t.Fatal("nothing waits")
	}
	r.repairs.done(ordertest.VoucherA, jobDone)
	r.repairs.RequestRepair(ordertest.VoucherA, order.NoBadEpoch)
	if waits := r.repairs.waits(); waits != 0 {
		t.Errorf("%d requests wait right after one, want 0", waits)
	}
	r.repairs.RequestRepair(ordertest.VoucherA, 7) // names a new bad epoch
	if waits := r.repairs.waits(); waits != 1 {
		t.Errorf("%d requests wait after a new finding, want 1", waits)
	}
}

// A bad epoch is remembered when its rebuild fails, and when another instance holds the sale's lock.
func TestBrokenEpochIsRemembered(t *testing.T) {
	t.Parallel()
	f := &ordertest.FakeSales{
		Kept: []voucher.Voucher{ordertest.VoucherAt(3, 5)},
		Redis: map[int64]order.SaleView{
			ordertest.VoucherA: {Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: 9}, Now: ordertest.Begin},
		},
	}
	r := newTestReconciler(t, f)
	r.repairs.RequestRepair(ordertest.VoucherA, 3)
	f.Before["raise"] = 1
	r.sweepAndServe(t.Context())
	if len(f.Built) != 0 {
		t.Fatalf("built %v although the ledger was away", f.Built)
	}
	r.sweepAndServe(t.Context())
	r.sweepAndServe(t.Context())
	if diff := cmp.Diff(rebuildTo(4), f.Built); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(r.repairs.badEpochs) != 0 {
		t.Errorf("still remembered: %v", r.repairs.badEpochs)
	}
}

func TestSweepLeavesToOthersWhatTheyAreAt(t *testing.T) {
	t.Parallel()
	f := &ordertest.FakeSales{Kept: []voucher.Voucher{ordertest.VoucherAt(0, 0)}}
	r := newTestReconciler(t, f)
	f.Lock(lockName(ordertest.VoucherA)).Lock()
	r.sweepAndServe(t.Context())
	f.Lock(lockName(ordertest.VoucherA)).Unlock()
	if len(f.Built) != 0 {
		t.Errorf("built %v while another instance held the lock", f.Built)
	}
	if r.Ready() == nil {
		t.Error("ready although the sale is not built")
	}
}

func TestSweepRetires(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		shop    int64
		since   time.Duration // since the end
		off     time.Duration // how long after its end the sale was called off; 0: it was not
		drained bool
		holders []order.Claim
		waiting []order.Claim
		want    []int64
		built   []string
	}{
		"a day after the end, drained": {since: 25 * time.Hour, drained: true, want: []int64{ordertest.VoucherA}},
		"all orders have rows": {
			since: 25 * time.Hour, drained: true,
			holders: []order.Claim{ordertest.NewClaim(100, 1, ordertest.VoucherA)}, want: []int64{ordertest.VoucherA},
		},
		"an order waits": {
			since: 25 * time.Hour, holders: []order.Claim{ordertest.NewClaim(101, 1, ordertest.VoucherA)},
			waiting: []order.Claim{ordertest.NewClaim(101, 1, ordertest.VoucherA)},
		},
		"only the holder is left of an order": {
			since: 25 * time.Hour, drained: true,
			holders: []order.Claim{ordertest.NewClaim(101, 1, ordertest.VoucherA)}, built: rebuildTo(2),
		},
		"not drained": {since: 25 * time.Hour},
		"a rehearsal, after a minute": {
			shop: voucher.RehearsalShop, since: 61 * time.Second, drained: true, want: []int64{ordertest.VoucherA},
		},
		"a rehearsal, within the minute": {shop: voucher.RehearsalShop, since: 59 * time.Second, drained: true},
		"a rehearsal with a holder left": {shop: voucher.RehearsalShop, since: time.Hour, holders: []order.Claim{
			ordertest.NewClaim(101, 1, ordertest.VoucherA),
		}, waiting: []order.Claim{ordertest.NewClaim(101, 1, ordertest.VoucherA)}},
		"within a day":                     {since: 23 * time.Hour, drained: true},
		"within a day of being called off": {since: 25 * time.Hour, off: 2 * time.Hour, drained: true},
		"a day after being called off": {
			since: 27 * time.Hour, off: 2 * time.Hour, drained: true, want: []int64{ordertest.VoucherA},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &ordertest.FakeSales{
				Kept: []voucher.Voucher{ordertest.VoucherAt(1, 0)}, Dropped: tc.drained, HolderClaims: tc.holders,
				Stream: tc.waiting, Redis: map[int64]order.SaleView{ordertest.VoucherA: {
					Mode: order.SaleOpen, Mark: order.Mark{Epoch: 1}, Now: ordertest.End.Add(tc.since),
				}},
			}
			f.Kept[0].ShopID = tc.shop
			if tc.off > 0 {
				f.Kept[0].Sale.CalledOff = ordertest.End.Add(tc.off)
			}
			r := newTestReconciler(t, f)
			r.sweepAndServe(t.Context())
			if len(tc.built) > 0 {
				r.sweepAndServe(t.Context())
			}
			if diff := cmp.Diff(tc.built, f.Built); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, f.Retired); diff != "" {
				t.Errorf("retired (-want +got):\n%s", diff)
			}
		})
	}
}

// While Redis refuses to stop a sale (a cluster moves its slot to another node), retries raise no epoch.
func TestEpochStaysWhileRedisRefuses(t *testing.T) {
	t.Parallel()
	f := &ordertest.FakeSales{Kept: []voucher.Voucher{ordertest.VoucherAt(3, 9)}, Redis: map[int64]order.SaleView{}}
	r := newTestReconciler(t, f)
	f.Before["begin"] = 3
	for range 3 {
		r.tryRebuild(t.Context(), ordertest.VoucherA)
	}
	if epoch := f.Kept[0].Sale.Epoch; epoch != 3 {
		t.Errorf("the epoch has become %d", epoch)
	}
	r.tryRebuild(t.Context(), ordertest.VoucherA)
	if diff := cmp.Diff(rebuildTo(4), f.Built); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// A bad epoch that was written by hand stops no sale for good, although no rebuild would ever exceed it.
func TestBadEpochOfNobodys(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bad   int64
		built []string
	}{
		"written by hand":                {bad: 1<<53 - 1},
		"of the ledger before":           {bad: 12, built: rebuildTo(13)},
		"below the sale's present epoch": {bad: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := ordertest.VoucherAt(3, 9)
			f := &ordertest.FakeSales{Kept: []voucher.Voucher{v}, Redis: map[int64]order.SaleView{
				v.ID: {Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: 9}, Now: ordertest.Begin},
			}}
			r := newTestReconciler(t, f)
			r.repairs.RequestRepair(v.ID, tc.bad)
			for range 3 {
				r.sweepAndServe(t.Context())
			}
			if diff := cmp.Diff(tc.built, f.Built); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// A sweep leaves a sale that lacks operations to the outbox, unless it must be rebuilt: the rebuild contains them.
func TestSweepNotifiesOfWhatIsBehind(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode     order.SaleMode
		applied  int64
		identity int64
		notified []int64
		built    []string
	}{
		"behind": {
			mode: order.SaleOpen, applied: 4, notified: []int64{ordertest.VoucherA},
		},
		"paused": {
			mode: order.SalePaused, applied: 4, notified: []int64{ordertest.VoucherA},
		},
		"has all operations":                   {mode: order.SaleOpen, applied: 5},
		"has more operations than the ledger":  {mode: order.SaleOpen, applied: 6, built: rebuildTo(4)},
		"has another operation of that number": {mode: order.SaleOpen, applied: 5, identity: 52, built: rebuildTo(4)},
		"has that operation":                   {mode: order.SalePaused, applied: 5, identity: 51},
		"has another mode, and no identity":    {mode: order.SalePaused, applied: 5, built: rebuildTo(4)},
		"to be rebuilt":                        {mode: order.SaleMissing, built: rebuildTo(4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behind := ordertest.VoucherAt(3, 9)
			behind.Sale.LastOperation, behind.Sale.LastIdentity = 5, 51
			f := &ordertest.FakeSales{
				Kept: []voucher.Voucher{behind},
				Redis: map[int64]order.SaleView{ordertest.VoucherA: {
					Mode: tc.mode, Mark: order.Mark{Epoch: 3, Sequence: 9}, Applied: tc.applied,
					AppliedIdentity: tc.identity,
					Now:             ordertest.End.Add(25 * time.Hour),
				}},
			}
			r := newTestReconciler(t, f)
			r.sweepAndServe(t.Context())
			if diff := cmp.Diff(tc.notified, f.FlushRequests); diff != "" {
				t.Errorf("notified (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.built, f.Built); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if len(tc.notified) > 0 && len(f.Retired) > 0 {
				t.Error("retired before all was applied")
			}
		})
	}
}

// Operations that are committed and applied between the two readings do not look like a ledger that has lost some,
// neither in a sweep nor under the lock.
func TestSweepBearsOperationsInBetween(t *testing.T) {
	t.Parallel()
	f := &ordertest.FakeSales{
		Kept: []voucher.Voucher{ordertest.VoucherAt(3, 9)},
		Redis: map[int64]order.SaleView{
			ordertest.VoucherA: {Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: 9}, Now: ordertest.Begin},
		},
	}
	f.OnViews = func() {
		f.Kept[0].Sale.LastOperation++
		view := f.Redis[ordertest.VoucherA]
		view.Applied++
		f.Redis[ordertest.VoucherA] = view
	}
	r := newTestReconciler(t, f)
	r.sweepAndServe(t.Context())
	if err := r.Open(t.Context(), ordertest.VoucherA); err != nil {
		t.Error(err)
	}
	if err := r.Healthy(); err != nil {
		t.Errorf("unhealthy: %v", err)
	}
	if len(f.Built) != 0 {
		t.Errorf("rebuilt: %v", f.Built)
	}
}

// A sale that changes while it is being retired is not retired. The next sweep finds it missing and rebuilds it.
func TestRetiringGivesWayToAChange(t *testing.T) {
	t.Parallel()
	f := &ordertest.FakeSales{
		Kept: []voucher.Voucher{ordertest.VoucherAt(1, 0)}, Dropped: true, Changed: true,
		Redis: map[int64]order.SaleView{ordertest.VoucherA: {
			Mode: order.SaleOpen, Mark: order.Mark{Epoch: 1}, Now: ordertest.End.Add(25 * time.Hour),
		}},
	}
	r := newTestReconciler(t, f)
	r.sweepAndServe(t.Context())
	f.Redis[ordertest.VoucherA] = order.SaleView{} // dropped
	r.sweepAndServe(t.Context())
	if len(f.Retired) != 0 {
		t.Errorf("retired %v", f.Retired)
	}
	if diff := cmp.Diff(rebuildTo(2), f.Built); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// A sweep does not warn of a sale that another instance is just building, but of one that waits for several sweeps.
func TestSweepWarnsOnlyWhenItLasts(t *testing.T) {
	t.Parallel()
	f := &ordertest.FakeSales{Kept: []voucher.Voucher{ordertest.VoucherAt(0, 0)}}
	r := newTestReconciler(t, f)
	var lines strings.Builder
	r.log = slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelInfo}))
	f.Lock(lockName(ordertest.VoucherA)).Lock() // another instance is building it
	for range quietSweeps - 1 {
		r.sweepAndServe(t.Context())
	}
	if lines.Len() > 0 || r.Healthy() == nil {
		t.Errorf("healthy: %v; logged:\n%s", r.Healthy(), &lines)
	}
	r.sweepAndServe(t.Context())
	if !strings.Contains(lines.String(), "WARN") {
		t.Errorf("logged after %d sweeps:\n%s", quietSweeps, &lines)
	}
	f.Lock(lockName(ordertest.VoucherA)).Unlock()
	r.sweepAndServe(t.Context())
	f.Before["sales"] = 1
	lines.Reset()
	r.sweepAndServe(t.Context())
	if !strings.Contains(lines.String(), "WARN") {
		t.Errorf("a store is away, and nothing is logged:\n%s", &lines)
	}
}

func TestSweepPause(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]time.Duration{
		0:                     sweepEvery,
		50 * time.Millisecond: 950 * time.Millisecond,
		time.Second:           9 * time.Second, // there are many sales
		inspectTimeout:        maxSweepPause,   // a store was away
	} {
		if got := sweepPause(took); got != want {
			t.Errorf("%v after a sweep of %v, want %v", got, took, want)
		}
	}
}

// A partition that does not answer keeps no sale of another from being compared, and its own sales keep their urgency.
func TestSweepOfPartitions(t *testing.T) {
	t.Parallel()
	at := func(id int64, partition int) voucher.Voucher {
		v := ordertest.VoucherAt(1, 0)
		v.ID, v.Sale.Partition = id, partition
		return v
	}
	f := &ordertest.FakeSales{
		Kept: []voucher.Voucher{at(1, 0), at(2, 1), at(3, 1), at(4, 2)}, Away: map[int]bool{1: true},
		Redis: map[int64]order.SaleView{2: {Now: ordertest.Begin}},
	}
	r := newTestReconciler(t, f)
	found := func() string { return fmt.Sprint(r.repairs.urgencies()) }
	r.sweep(t.Context())
	if want := fmt.Sprint(map[int64]Urgency{1: Upcoming, 4: Upcoming}); found() != want {
		t.Errorf("a sweep without partition 1 has found %s, want %s", found(), want)
	}
	if err := r.Healthy(); !errors.Is(err, errUnread) || !strings.Contains(err.Error(), "partition 1") {
		t.Errorf("Healthy: %v", err)
	}
	r.sweepAndServe(t.Context())
	if err := r.Ready(); err != nil {
		t.Errorf("an instance that sells what is in the others is not ready: %v", err)
	}
	f.Away = nil
	r.sweep(t.Context())
	all := found()
	f.Away = map[int]bool{1: true}
	r.sweep(t.Context())
	if found() != all {
		t.Errorf("partition 1 is away again, and %s is %s", all, found())
	}
	f.Away = map[int]bool{0: true, 1: true, 2: true}
	r.sweep(t.Context())
	if err := r.Healthy(); err == nil || errors.Is(err, errUnread) || found() != all {
		t.Errorf("no partition answers: %v, %s", err, found())
	}
}

package order

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/voucher"
)

func newTestKeeper(t *testing.T, f *fakeSales) *Keeper {
	t.Helper()
	if f.redis == nil {
		f.redis = map[int64]SaleView{}
	}
	f.before, f.after = map[string]int{}, map[string]int{}
	catalog := NewCatalog(f)
	t.Cleanup(catalog.Close)
	return NewKeeper(KeeperStores{Ledger: f, Rows: &fakeRows{rows: map[int64]Order{100: {ID: 100}}}, Reader: f, Builder: f, Retirer: f, Locker: f, Outbox: f}, catalog, NewComplaints(), deaf{}, quiet())
}

// at is a voucher whose ledger row stands at the mark.
func at(epoch, sequence int64) voucher.Voucher {
	v := saleVoucher(5)
	v.Sale.Epoch, v.Sale.Sequence = epoch, sequence
	return v
}

// rebuildTo are the steps of a rebuild.
func rebuildTo(epoch int64) []string {
	return []string{fmt.Sprint("begin ", epoch), "seat", "requeue", fmt.Sprint("publish ", epoch)}
}

func TestSweepRebuildsWhatIsWrong(t *testing.T) {
	t.Parallel()
	open := func(epoch, sequence int64) SaleView {
		return SaleView{Mode: SaleOpen, Mark: Mark{Epoch: epoch, Sequence: sequence}, Now: begin}
	}
	for name, tc := range map[string]struct {
		ledger voucher.Voucher
		redis  SaleView
		want   []string
	}{
		"a new sale is opened at epoch 1":       {ledger: at(0, 0), want: rebuildTo(1)},
		"a missing sale":                        {ledger: at(3, 9), want: rebuildTo(4)},
		"an abandoned rebuild":                  {ledger: at(4, 0), redis: SaleView{Mode: SaleRebuilding, Mark: Mark{Epoch: 3, Sequence: 9}, Now: begin}, want: rebuildTo(5)},
		"an older epoch":                        {ledger: at(3, 0), redis: open(2, 50), want: rebuildTo(4)},
		"a lost tail":                           {ledger: at(3, 9), redis: open(3, 8), want: rebuildTo(4)},
		"an epoch that the ledger has not":      {ledger: at(3, 9), redis: open(7, 2), want: rebuildTo(8)},
		"Redis ahead of the ledger is as usual": {ledger: at(3, 9), redis: open(3, 20)},
		"paused is not broken":                  {ledger: at(3, 9), redis: SaleView{Mode: SalePaused, Mark: Mark{Epoch: 3, Sequence: 9}, Now: begin}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeSales{kept: []voucher.Voucher{tc.ledger}, redis: map[int64]SaleView{voucherA: tc.redis}}
			k := newTestKeeper(t, f)
			k.sweep(t.Context())
			if diff := cmp.Diff(tc.want, f.built); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if err := k.Ready(); err != nil {
				t.Errorf("not ready: %v", err)
			}
		})
	}
}

// A rebuild that dies at any step is finished by the next sweep, under the next epoch.
func TestSweepFinishesAnInterruptedRebuild(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"raise", "begin", "snapshot", "seat", "requeue", "publish"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			f := &fakeSales{kept: []voucher.Voucher{at(0, 0)}}
			k := newTestKeeper(t, f)
			f.before[step] = 1
			k.sweep(t.Context())
			if k.Ready() == nil {
				t.Error("ready with a sale that is not built")
			}
			k.sweep(t.Context())
			if err := k.Ready(); err != nil {
				t.Errorf("not ready after the second sweep: %v", err)
			}
			if view := f.redis[voucherA]; view.Mode != SaleOpen || view.Mark.Epoch != f.kept[0].Sale.Epoch {
				t.Errorf("Redis holds %+v, the ledger epoch %d", view, f.kept[0].Sale.Epoch)
			}
		})
	}
}

func TestReadyOutlastsALaterFault(t *testing.T) {
	t.Parallel()
	f := &fakeSales{kept: []voucher.Voucher{at(0, 0)}}
	k := newTestKeeper(t, f)
	if k.Ready() == nil {
		t.Error("ready before the first sweep")
	}
	k.sweep(t.Context())
	f.before["sales"] = 1
	k.sweep(t.Context())
	if k.Ready() != nil || k.Healthy() == nil {
		t.Errorf("ready: %v, healthy: %v; want ready and unhealthy", k.Ready(), k.Healthy())
	}
}

// A broken epoch is rebuilt once, however often it is reported.
func TestMendRebuildsABrokenEpochOnce(t *testing.T) {
	t.Parallel()
	f := &fakeSales{
		kept:  []voucher.Voucher{at(3, 5)},
		redis: map[int64]SaleView{voucherA: {Mode: SaleOpen, Mark: Mark{Epoch: 3, Sequence: 9}, Now: begin}},
	}
	k := newTestKeeper(t, f)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- k.Run(ctx) }()
	for range 5 {
		k.wrong.Mend(voucherA, NotBroken)
		k.wrong.Mend(voucherA, 3)
	}
	waitUntil(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.built) > 0 && f.redis[voucherA].Mode == SaleOpen && len(k.wrong.waiting) == 0
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(rebuildTo(4), f.built); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// Half a million refused buyers ask for the same thing; the keeper looks ten times a second.
func TestMendIsNotAskedTooOften(t *testing.T) {
	t.Parallel()
	k := newTestKeeper(t, &fakeSales{kept: []voucher.Voucher{at(3, 5)}})
	for range 3 {
		k.wrong.Mend(voucherA, NotBroken)
	}
	if waits := len(k.wrong.waiting); waits != 1 {
		t.Fatalf("%d requests wait, want 1", waits)
	}
	k.wrong.took(<-k.wrong.waiting)
	k.wrong.Mend(voucherA, NotBroken)
	if waits := len(k.wrong.waiting); waits != 0 {
		t.Errorf("%d requests wait right after one, want 0", waits)
	}
	k.wrong.Mend(voucherA, 7) // knows something new
	if waits := len(k.wrong.waiting); waits != 1 {
		t.Errorf("%d requests wait after a new finding, want 1", waits)
	}
}

// An epoch that is known to be wrong is not forgotten when its rebuild fails, nor when there is no room to ask for it.
func TestBrokenEpochIsRemembered(t *testing.T) {
	t.Parallel()
	f := &fakeSales{
		kept:  []voucher.Voucher{at(3, 5)},
		redis: map[int64]SaleView{voucherA: {Mode: SaleOpen, Mark: Mark{Epoch: 3, Sequence: 9}, Now: begin}},
	}
	k := newTestKeeper(t, f)
	for range cap(k.wrong.waiting) {
		k.wrong.waiting <- voucherB
	}
	k.wrong.Mend(voucherA, 3)
	f.before["raise"] = 1
	k.sweep(t.Context())
	if len(f.built) != 0 {
		t.Fatalf("built %v though the ledger was away", f.built)
	}
	k.sweep(t.Context())
	k.sweep(t.Context())
	if diff := cmp.Diff(rebuildTo(4), f.built); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(k.wrong.broken) != 0 {
		t.Errorf("still remembered: %v", k.wrong.broken)
	}
}

func TestSweepLeavesToOthersWhatTheyAreAt(t *testing.T) {
	t.Parallel()
	f := &fakeSales{kept: []voucher.Voucher{at(0, 0)}}
	k := newTestKeeper(t, f)
	f.lock(lockName(voucherA)).Lock()
	k.sweep(t.Context())
	f.lock(lockName(voucherA)).Unlock()
	if len(f.built) != 0 {
		t.Errorf("built %v while another instance held the lock", f.built)
	}
	if k.Ready() == nil {
		t.Error("ready though the sale is not built")
	}
}

func TestSweepRetires(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		since   time.Duration // from the end
		drained bool
		holders []Claim
		waiting []Claim
		want    []int64
		built   []string
	}{
		"a day after the end and drained": {since: 25 * time.Hour, drained: true, want: []int64{voucherA}},
		"all orders have rows":            {since: 25 * time.Hour, drained: true, holders: []Claim{claim(100, 1, voucherA)}, want: []int64{voucherA}},
		"an order waits":                  {since: 25 * time.Hour, holders: []Claim{claim(101, 1, voucherA)}, waiting: []Claim{claim(101, 1, voucherA)}},
		"an order has left no trace but its place": {
			since: 25 * time.Hour, drained: true, holders: []Claim{claim(101, 1, voucherA)}, built: rebuildTo(2),
		},
		"not drained":  {since: 25 * time.Hour},
		"within a day": {since: 23 * time.Hour, drained: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeSales{
				kept: []voucher.Voucher{at(1, 0)}, dropped: tc.drained, holders: tc.holders, waiting: tc.waiting,
				redis: map[int64]SaleView{voucherA: {Mode: SaleOpen, Mark: Mark{Epoch: 1}, Now: end.Add(tc.since)}},
			}
			k := newTestKeeper(t, f)
			k.sweep(t.Context())
			if len(tc.built) > 0 {
				k.sweep(t.Context())
			}
			if diff := cmp.Diff(tc.built, f.built); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, f.retired); diff != "" {
				t.Errorf("retired (-want +got):\n%s", diff)
			}
		})
	}
}

// A sale that is behind by operations is the outbox's; one that has to be rebuilt is not, as that contains them.
func TestSweepNotifiesOfWhatIsBehind(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode     SaleMode
		applied  int64
		notified []int64
		built    []string
	}{
		"behind":                               {mode: SaleOpen, applied: 4, notified: []int64{voucherA}},
		"paused":                               {mode: SalePaused, applied: 4, notified: []int64{voucherA}},
		"up to the ledger":                     {mode: SaleOpen, applied: 5},
		"of a ledger that has lost operations": {mode: SaleOpen, applied: 6, built: rebuildTo(4)},
		"to be rebuilt":                        {mode: SaleMissing, built: rebuildTo(4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behind := at(3, 9)
			behind.Sale.LastOperation = 5
			f := &fakeSales{
				kept:  []voucher.Voucher{behind},
				redis: map[int64]SaleView{voucherA: {Mode: tc.mode, Mark: Mark{Epoch: 3, Sequence: 9}, Applied: tc.applied, Now: end.Add(25 * time.Hour)}},
			}
			k := newTestKeeper(t, f)
			k.sweep(t.Context())
			if diff := cmp.Diff(tc.notified, f.notified); diff != "" {
				t.Errorf("notified (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.built, f.built); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if len(tc.notified) > 0 && len(f.retired) > 0 {
				t.Error("retired before all was applied")
			}
		})
	}
}

// Operations that are committed and applied between the two readings are no sign of a ledger that has lost some, in a
// sweep as under the lock.
func TestSweepBearsOperationsInBetween(t *testing.T) {
	t.Parallel()
	f := &fakeSales{
		kept:  []voucher.Voucher{at(3, 9)},
		redis: map[int64]SaleView{voucherA: {Mode: SaleOpen, Mark: Mark{Epoch: 3, Sequence: 9}, Now: begin}},
	}
	f.onViews = func() {
		f.kept[0].Sale.LastOperation++
		view := f.redis[voucherA]
		view.Applied++
		f.redis[voucherA] = view
	}
	k := newTestKeeper(t, f)
	k.sweep(t.Context())
	if err := k.Open(t.Context(), voucherA); err != nil {
		t.Error(err)
	}
	if err := k.Healthy(); err != nil {
		t.Errorf("unhealthy: %v", err)
	}
	if len(f.built) != 0 {
		t.Errorf("rebuilt: %v", f.built)
	}
}

// A sale that changes while it is being retired is not; the next sweep finds it missing and rebuilds it.
func TestRetiringGivesWayToAChange(t *testing.T) {
	t.Parallel()
	f := &fakeSales{
		kept: []voucher.Voucher{at(1, 0)}, dropped: true, changed: true,
		redis: map[int64]SaleView{voucherA: {Mode: SaleOpen, Mark: Mark{Epoch: 1}, Now: end.Add(25 * time.Hour)}},
	}
	k := newTestKeeper(t, f)
	k.sweep(t.Context())
	f.redis[voucherA] = SaleView{} // dropped
	k.sweep(t.Context())
	if len(f.retired) != 0 {
		t.Errorf("retired %v", f.retired)
	}
	if diff := cmp.Diff(rebuildTo(2), f.built); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// A sale that somebody else is just building is no reason to warn; one that nobody gets built is.
func TestSweepWarnsOnlyWhenItLasts(t *testing.T) {
	t.Parallel()
	f := &fakeSales{kept: []voucher.Voucher{at(0, 0)}}
	k := newTestKeeper(t, f)
	var lines strings.Builder
	k.log = slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelInfo}))
	f.lock(lockName(voucherA)).Lock() // another instance is at it
	for range buildSweeps - 1 {
		k.sweep(t.Context())
	}
	if lines.Len() > 0 || k.Healthy() == nil {
		t.Errorf("healthy: %v; logged:\n%s", k.Healthy(), &lines)
	}
	k.sweep(t.Context())
	if !strings.Contains(lines.String(), "WARN") {
		t.Errorf("logged after %d sweeps:\n%s", buildSweeps, &lines)
	}
	f.lock(lockName(voucherA)).Unlock()
	k.sweep(t.Context())
	f.before["sales"] = 1
	lines.Reset()
	k.sweep(t.Context())
	if !strings.Contains(lines.String(), "WARN") {
		t.Errorf("a store is away, and nobody is told:\n%s", &lines)
	}
}

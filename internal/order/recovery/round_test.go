package recovery

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// A rebuild waits until no instance can remember the sale as sold out and all live ones have reported, but not for
// ever. A new sale waits for nobody.
func TestRebuildWaitsForReports(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ledger voucher.Voucher
		absent func(waited time.Duration) []string
		want   time.Duration
	}{
		"a new sale":  {ledger: ordertest.VoucherAt(0, 0)},
		"nobody else": {ledger: ordertest.VoucherAt(3, 9), want: minRoundTime},
		"one report comes after a while": {
			ledger: ordertest.VoucherAt(3, 9), want: 3 * time.Second, absent: func(waited time.Duration) []string {
				if waited < 3*time.Second {
					return []string{"b"}
				}
				return nil
			},
		},
		"one live instance never reports": {
			ledger: ordertest.VoucherAt(3, 9), want: maxRoundTime,
			absent: func(time.Duration) []string { return []string{"b"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &ordertest.FakeSales{Kept: []voucher.Voucher{tc.ledger}}
				r := newTestReconciler(t, f)
				r.stores.Reports = f
				start := time.Now()
				f.OnProgress = func() {
					f.Progress.Since = time.Since(start)
					if tc.absent != nil {
						f.Progress.Missing = tc.absent(f.Progress.Since)
					}
				}
				r.sweepAndServe(t.Context())
				if took := time.Since(start); took < tc.want || took > tc.want+2*roundPoll {
					t.Errorf("took %v, want %v", took, tc.want)
				}
				if len(f.Built) != 4 || r.Ready() != nil {
					t.Errorf("steps %v, ready: %v", f.Built, r.Ready())
				}
			})
		})
	}
}

// Recovery rounds run at the same time: the sales of an emptied Redis wait once, not one after the other. But only a
// few sales are read at a time, since a ledger has few connections and an instance little memory.
func TestManyRoundsRunAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &ordertest.FakeSales{}
		for id := range int64(maxWork) {
			v := ordertest.VoucherAt(3, 9)
			v.ID = id + 1
			f.Kept = append(f.Kept, v)
		}
		r := newTestReconciler(t, f)
		r.stores.Reports = f
		var mu sync.Mutex
		read, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			read += n
			most = max(most, read)
		}
		f.OnStream = func() {
			count(1)
			time.Sleep(time.Millisecond)
			count(-1)
		}
		start := time.Now()
		r.sweepAndServe(t.Context())
		if took := time.Since(start); took > 2*minRoundTime || r.Ready() != nil {
			t.Errorf("took %v, ready: %v", took, r.Ready())
		}
		if most != maxReading {
			t.Errorf("%d sales were read at a time", most)
		}
	})
}

// A running sale's rebuild does not wait behind those of ended sales, however long these take to read.
func TestEndedSalesLeaveRoomToRead(t *testing.T) {
	t.Parallel()
	r := newTestReconciler(t, &ordertest.FakeSales{})
	for range maxReadingLate {
		if _, err := r.startReading(t.Context(), Ended); err != nil {
			t.Fatal(err)
		}
	}
	waiting, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() {
		_, err := r.startReading(waiting, Ended)
		stopped <- err
	}()
	for range maxReading - maxReadingLate {
		if _, err := r.startReading(t.Context(), Running); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("reading one more ended sale: %v", err)
	}
}

// Instances that have seen a higher epoch than a restored ledger has would refuse the sale for ever, so it is rebuilt
// above their epoch.
func TestRebuildOvertakesWhatInstancesHaveSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &ordertest.FakeSales{Kept: []voucher.Voucher{ordertest.VoucherAt(3, 9)}}
		f.Progress = order.RoundProgress{Since: minRoundTime, Seen: order.Mark{Epoch: 40, Sequence: 5}}
		r := newTestReconciler(t, f)
		r.stores.Reports = f
		for range 3 {
			r.sweepAndServe(t.Context())
		}
		if diff := cmp.Diff(append(rebuildTo(4), rebuildTo(41)...), f.Built); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
	})
}

// A rebuild ends its round early when it is superseded or Redis has forgotten it.
func TestRoundEndsWithItsRebuild(t *testing.T) {
	t.Parallel()
	f := &ordertest.FakeSales{Kept: []voucher.Voucher{ordertest.VoucherAt(3, 9)}}
	r := newTestReconciler(t, f)
	r.stores.Reports = f
	f.Before["progress"] = 1
	r.sweepAndServe(t.Context())
	if len(f.Built) != 1 {
		t.Errorf("steps %v", f.Built)
	}
	if err := r.Healthy(); err == nil || errors.Is(err, ordertest.ErrAway) {
		t.Errorf("healthy: %v", err)
	}
}

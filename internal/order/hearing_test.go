package order

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/voucher"
)

// A rebuild waits until nobody can remember the sale as sold out and all who live have come, but not for ever; a new sale
// waits for nobody.
func TestRebuildHearsTheInstances(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ledger voucher.Voucher
		absent func(waited time.Duration) []string
		want   time.Duration
	}{
		"a new sale":  {ledger: at(0, 0)},
		"nobody else": {ledger: at(3, 9), want: hearingTime},
		"one comes after a while": {ledger: at(3, 9), want: 3 * time.Second, absent: func(waited time.Duration) []string {
			if waited < 3*time.Second {
				return []string{"b"}
			}
			return nil
		}},
		"one lives and does not come": {
			ledger: at(3, 9), want: longestHearing, absent: func(time.Duration) []string { return []string{"b"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fakeSales{kept: []voucher.Voucher{tc.ledger}}
				k := newTestKeeper(t, f)
				k.testimony = f
				start := time.Now()
				f.onHeard = func() {
					f.hearing.Since = time.Since(start)
					if tc.absent != nil {
						f.hearing.Absent = tc.absent(f.hearing.Since)
					}
				}
				k.sweep(t.Context())
				if took := time.Since(start); took < tc.want || took > tc.want+2*hearingPause {
					t.Errorf("took %v, want %v", took, tc.want)
				}
				if len(f.built) != 4 || k.Ready() != nil {
					t.Errorf("steps %v, ready: %v", f.built, k.Ready())
				}
			})
		})
	}
}

// Sales are heard at the same time: those of a Redis that was emptied wait once, not each after the other. But only a few
// are read at a time, as a ledger has few connections and an instance little memory.
func TestManySalesAreHeardAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSales{}
		for id := range int64(rebuilders) {
			v := at(3, 9)
			v.ID = id + 1
			f.kept = append(f.kept, v)
		}
		k := newTestKeeper(t, f)
		k.testimony = f
		var mu sync.Mutex
		read, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			read += n
			most = max(most, read)
		}
		f.onStream = func() {
			count(1)
			time.Sleep(time.Millisecond)
			count(-1)
		}
		start := time.Now()
		k.sweep(t.Context())
		if took := time.Since(start); took > 2*hearingTime || k.Ready() != nil {
			t.Errorf("took %v, ready: %v", took, k.Ready())
		}
		if most != readers {
			t.Errorf("%d were read at a time", most)
		}
	})
}

// A rebuild that is superseded, or whose Redis has forgotten it, hears nobody to the end.
func TestHearingEndsWithItsRebuild(t *testing.T) {
	t.Parallel()
	f := &fakeSales{kept: []voucher.Voucher{at(3, 9)}}
	k := newTestKeeper(t, f)
	k.testimony = f
	f.before["heard"] = 1
	k.sweep(t.Context())
	if k.Ready() == nil || len(f.built) != 1 {
		t.Errorf("ready: %v, steps %v", k.Ready(), f.built)
	}
	if err := k.Healthy(); err == nil || errors.Is(err, errAway) {
		t.Errorf("healthy: %v", err)
	}
}

package identity

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/voucher"
)

const firstAccount = voucher.FirstAccount

// fakeVoid is a ledger of what is void.
type fakeVoid struct {
	mu    sync.Mutex
	rows  []Users // in the order of their times
	err   error
	swept atomic.Int64
}

func (f *fakeVoid) VoidAfter(_ context.Context, at time.Time, first int64, limit int) (page []Users, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range f.rows {
		if (u.At.After(at) || u.At.Equal(at) && u.First > first) && len(page) < limit {
			page = append(page, u)
		}
	}
	return page, f.err
}

func (f *fakeVoid) ForgetVoid(context.Context, time.Duration, int) error {
	f.swept.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *fakeVoid) set(err error, more ...Users) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows, f.err = append(f.rows, more...), err
	slices.SortStableFunc(f.rows, func(a, b Users) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.First, b.First))
	})
}

// An instance knows within a second what another one has made void, also several pages of it, and goes by what it knows
// while the ledger is away.
func TestVoidIsHeardOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		void, ledger := &Void{}, &fakeVoid{}
		for n := range int64(2*voidPage + 1) { // of one moment, as many as three pages have
			ledger.rows = append(ledger.rows, Users{firstAccount + n, firstAccount + n, began, began})
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = NewVoidLoader(void, ledger, time.Now, slog.New(slog.DiscardHandler)).Run(ctx) })
		synctest.Wait()
		for n := range int64(2*voidPage + 1) {
			if !void.Covers(firstAccount+n, began) {
				t.Fatalf("at the start: user %d is not void", n)
			}
		}
		time.Sleep(100 * time.Millisecond)
		one := Users{firstAccount - 7, firstAccount - 7, time.Now(), time.Now()}
		ledger.set(nil, one)
		time.Sleep(time.Second)
		synctest.Wait()
		if !void.Covers(one.First, one.Before) || void.Covers(one.First, one.Before.Add(time.Second)) {
			t.Error("after a second: not void, or too much of it")
		}
		late := Users{firstAccount - 8, firstAccount - 8, time.Now(), one.At.Add(-time.Second)} // committed late
		ledger.set(errors.New("away"), late)
		time.Sleep(10 * time.Second)
		if !void.Covers(one.First, one.Before) || void.Covers(late.First, late.Before) {
			t.Error("while the ledger is away")
		}
		ledger.set(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !void.Covers(late.First, late.Before) {
			t.Error("a row that was committed late is not heard of")
		}
		if ledger.swept.Load() != 0 {
			t.Error("swept at once")
		}
		time.Sleep(2 * time.Hour)
		if ledger.swept.Load() == 0 {
			t.Error("never swept")
		}
		stop()
		running.Wait()
	})
}

func TestCovers(t *testing.T) {
	t.Parallel()
	v := &Void{}
	if v.Covers(5, time.Time{}) {
		t.Error("who knows of nobody")
	}
	v.Tell(Users{First: 5, Last: 5, Before: noon}, Users{First: 100, Last: 199, Before: noon})
	v.Tell(Users{First: 5, Last: 5, Before: noon.Add(-time.Hour)}) // heard of late
	for name, tc := range map[string]struct {
		user     int64
		signedIn time.Time
		want     bool
	}{
		"before": {5, noon.Add(-time.Second), true}, "in the same second": {5, noon, true},
		"later": {5, noon.Add(time.Second), false}, "at no time": {5, time.Time{}, true},
		"another": {6, noon, false}, "an issuer's first": {100, noon, true}, "its last": {199, noon, true},
		"behind it": {200, noon, false}, "before it": {99, time.Time{}, false},
	} {
		if got := v.Covers(tc.user, tc.signedIn); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

// What nothing depends on any more is forgotten; what other users' tokens depend on is not.
func TestVoidIsForgotten(t *testing.T) {
	t.Parallel()
	v := &Void{}
	v.Tell(Users{First: firstAccount, Last: firstAccount, Before: noon}, Users{First: 42, Last: 42, Before: noon},
		Users{First: firstAccount, Last: firstAccount + 9, Before: noon},
		Users{First: 1, Last: firstAccount - 1, Before: noon.Add(-time.Hour)})
	v.forget(noon.Add(KeepVoid - time.Hour))
	if v.count() != 4 {
		t.Errorf("in time: %d are known, want 4", v.count())
	}
	v.forget(noon.Add(KeepVoid + time.Second))
	if v.count() != 2 || !v.Covers(42, noon) || !v.Covers(43, noon.Add(-time.Hour)) {
		t.Errorf("afterwards: %d are known, want user 42 and all numbers", v.count())
	}
}

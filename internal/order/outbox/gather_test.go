package outbox

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/split"
	"seckill/internal/voucher"
)

// fakeLooks are looks at the Redis of fakeMoves. change is what happens before each look, by its number from 1.
type fakeLooks struct {
	*fakeMoves
	looks  int
	change func(look int, shares split.Look)
}

func (f *fakeLooks) Look(_ context.Context, shares []order.SaleRef) (split.Look, error) {
	f.looks++
	look := make(split.Look, len(shares))
	for i := range look {
		look[i] = split.Share{Known: true, Open: true, Sellable: f.redis[i]}
	}
	if f.change != nil {
		f.change(f.looks, look)
	}
	return look, nil
}

// What a change of stock wants is gathered in share 0, or it is certain that all shares together have less.
func TestGather(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		redis  [2]int64
		change func(look int, shares split.Look)
		left   int64
		steps  []string
	}{
		"share 0 has enough":               {redis: [2]int64{5, 9}, left: 5},
		"what it lacks is moved":           {redis: [2]int64{1, 9}, left: 3, steps: []string{"-2 in share 1", "+2 in share 0"}},
		"all of both":                      {redis: [2]int64{1, 2}, left: 3, steps: []string{"-2 in share 1", "+2 in share 0"}},
		"both together have too few":       {redis: [2]int64{1, 1}, left: 2},
		"paused":                           {redis: [2]int64{0, 9}, change: func(_ int, s split.Look) { s[0].Open, s[1].Open = false, false }, left: 3, steps: []string{"-3 in share 1", "+3 in share 0"}},
		"too few, with those that wait":    {redis: [2]int64{1, 0}, change: func(_ int, s split.Look) { s[1].Waiting = 1 }, left: 2},
		"once they have waited":            {redis: [2]int64{1, 3}, change: wait, left: 3, steps: []string{"-2 in share 1", "+2 in share 0"}},
		"once the other share is known":    {redis: [2]int64{0, 3}, change: func(n int, s split.Look) { s[1].Known = n > 4 }, left: 3, steps: []string{"-3 in share 1", "+3 in share 0"}},
		"once share 0 is known":            {redis: [2]int64{0, 3}, change: func(n int, s split.Look) { s[0].Known = n > 4 }, left: 3, steps: []string{"-3 in share 1", "+3 in share 0"}},
		"once the other gives what it got": {redis: [2]int64{0, 3}, change: func(n int, s split.Look) { s[1].Kept = n <= 4 }, left: 3, steps: []string{"-3 in share 1", "+3 in share 0"}},
		"units came between the looks":     {redis: [2]int64{0, 3}, change: func(n int, s split.Look) { s[1].Sellable -= int64(n % 2) }, left: 3, steps: []string{"-3 in share 1", "+3 in share 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := newFakeLooks(tc.redis)
			looks.change = tc.change
			left, err := looks.outbox(t).Gather(t.Context(), ordertest.VoucherA, 3)
			if err != nil || left != tc.left {
				t.Errorf("%d left, %v; want %d", left, err, tc.left)
			}
			if diff := cmp.Diff(tc.steps, looks.steps); diff != "" {
				t.Errorf("applied (-want +got):\n%s", diff)
			}
		})
	}
}

// wait has the units of share 1 wait until the third pair of looks.
func wait(look int, shares split.Look) {
	if look <= 4 {
		shares[1].Waiting, shares[1].Sellable = shares[1].Sellable, 0
	}
}

// A share whose buyers are as fast as units come gets more of them, until nothing is left.
func TestGatherAmongBuyers(t *testing.T) {
	t.Parallel()
	looks := newFakeLooks([2]int64{0, 9})
	looks.change = func(n int, shares split.Look) {
		if n%2 == 1 { // all that came since the last pair of looks is sold
			looks.redis[0], shares[0].Sellable = 0, 0
			looks.steps = nil // fakeMoves applies each step once
		}
	}
	if left, err := looks.outbox(t).Gather(t.Context(), ordertest.VoucherA, 3); err != nil || left != 0 {
		t.Errorf("%d left, %v", left, err)
	}
}

// Nothing is known of a share for as long as the caller waits, or the units cannot be moved: that is no refusal.
func TestGatherIsNotKnown(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	unknown := newFakeLooks([2]int64{0, 9})
	unknown.change = func(n int, shares split.Look) {
		shares[1].Known = false
		if n == 5 {
			cancel()
		}
	}
	if left, err := unknown.outbox(t).Gather(ctx, ordertest.VoucherA, 3); !errors.Is(err, order.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("nothing is known of share 1: %d left, %v", left, err)
	}
	away := newFakeLooks([2]int64{0, 9})
	away.Before["request"] = 1
	if left, err := away.outbox(t).Gather(t.Context(), ordertest.VoucherA, 3); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("the ledger is away: %d left, %v", left, err)
	}
}

func newFakeLooks(redis [2]int64) *fakeLooks {
	return &fakeLooks{fakeMoves: &fakeMoves{
		Faults: ordertest.Faults{Before: map[string]int{}, After: map[string]int{}}, pending: map[int][]order.Operation{}, redis: redis,
	}}
}

// outbox is one for a sale with two shares.
func (f *fakeLooks) outbox(t *testing.T) *Outbox {
	t.Helper()
	catalog := catalog.New(&ordertest.FakeSales{
		Kept: []voucher.Voucher{twoShares()}, Faults: ordertest.Faults{Before: map[string]int{}, After: map[string]int{}},
	})
	t.Cleanup(catalog.Close)
	stores := ordertest.NewFakeStores(0)
	return New(Stores{Ledger: f, Moves: f, Redis: f, Looker: f}, catalog, stores, stores, &ordertest.CountingObserver{}, ordertest.Quiet())
}

// twoShares is a voucher whose sale has two shares.
func twoShares() voucher.Voucher {
	zero := ordertest.VoucherAt(1, 0)
	zero.Sale.SplitIn = 2
	one, sale := zero, *zero.Sale
	sale.Share, one.Sale = 1, &sale
	return voucher.Whole([]voucher.Voucher{zero, one})
}

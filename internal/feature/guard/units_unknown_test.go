package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/testkit/apitest"
	"seckill/internal/voucher/guards"
)

// While the outcome of a purchase is unknown its units stay reserved. They are won if Redis names the purchase's own
// order, free if it names another one or none, and reserved while it says nothing.
func TestUnknownUnits(t *testing.T) {
	t.Parallel()
	const id = 77
	ask := func(outcomes ...guards.Outcome) func(context.Context) guards.Ending {
		return func(context.Context) guards.Ending {
			o := outcomes[0]
			if len(outcomes) > 1 {
				outcomes = outcomes[1:]
			}
			return guards.Ending{Outcome: o, ID: id}
		}
	}
	unknown := guards.Ending{Outcome: guards.Unknown, ID: id}
	for name, c := range map[string]struct {
		ending  guards.Ending
		own     error
		counted bool // the user's order has counted before
		free    bool
		sold    int64
		again   bool
	}{
		"bought":              {unknown, &gate.AlreadyBoughtError{OrderID: id}, false, false, 1, false},
		"bought before":       {unknown, &gate.AlreadyBoughtError{OrderID: 1}, false, true, 0, false},
		"bought, and counted": {unknown, &gate.AlreadyBoughtError{OrderID: id}, true, true, 0, false},
		"not bought":          {unknown, gate.ErrBarred, false, true, 0, false},
		"not known":           {unknown, order.ErrUnavailable, false, false, 0, true},
		"paused":              {unknown, gate.ErrPaused, false, false, 0, true},
		"not decided":         {unknown, nil, false, false, 0, true},
		"panicked":            {guards.Ending{Outcome: guards.Unknown}, gate.ErrBarred, false, true, 0, false},
		"panicked, bought": {
			guards.Ending{Outcome: guards.Unknown}, &gate.AlreadyBoughtError{OrderID: id}, false, false, 1, false,
		},
		"panicked, bought before": {
			guards.Ending{Outcome: guards.Unknown}, &gate.AlreadyBoughtError{OrderID: id}, true, true, 0, false,
		},
		"accepted": {
			guards.Ending{Outcome: guards.Unknown, Look: ask(guards.Unknown, guards.Won)},
			nil, false, false, 1, false,
		},
		"accepted in vain": {
			guards.Ending{Outcome: guards.Unknown, Look: ask(guards.Refused)}, nil, false, true, 0, false,
		},
		"promised": {
			guards.Ending{Outcome: guards.Unknown, Look: ask(guards.Claimed)}, nil, false, false, 0, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := noon
			clock := func() time.Time { return now }
			table, tally := budget.NewTable(clock), tally.New(time.Now)
			sales := &fakeSales{own: c.own}
			u, a := &guards.Units{PerAddress: 1}, netip.MustParseAddr("192.0.2.7")
			units := NewUnits(table, tally, sales.OwnOrder, clock)
			if c.counted {
				units.counted.add(1, 7, id)
			}
			r, err := table.Reserve(u, 1, 7, a, 1)
			if err != nil {
				t.Fatal(err)
			}
			units.end(1, Caller{UserID: 7, Address: a}, r, c.ending)
			now = now.Add(unknownAfter - time.Second)
			units.round(t.Context())
			if sales.asked != 0 {
				t.Error("it was asked too early")
			}
			for range 2 {
				now = now.Add(2 * time.Second)
				units.round(t.Context())
			}
			if _, err := table.Reserve(u, 1, 8, a, 1); (err == nil) != c.free {
				t.Errorf("the unit is free: %t (%v)", err == nil, err)
			}
			if d := tally.Take()[1]; (d != nil) != (c.sold > 0) || d != nil && d.Units["192.0.2.0/24"] != c.sold {
				t.Errorf("counted: %+v", d)
			}
			if c.again != (sales.asked == 2) || c.ending.Look == nil && sales.asked < 1 ||
				c.again != (len(units.waiting) > 0) {
				t.Errorf("it was asked %d times, and %d wait", sales.asked, len(units.waiting))
			}
		})
	}
}

// Beyond maxUnknown, units are given back; a sale whose look-ups fail keeps no other sale's units reserved.
func TestUnknownUnitsAreBounded(t *testing.T) {
	t.Parallel()
	now := noon
	clock := func() time.Time { return now }
	table := budget.NewTable(clock)
	u, a := &guards.Units{PerAddress: 1}, netip.MustParseAddr("192.0.2.7")
	away := func(_ context.Context, _, saleID int64) error {
		if saleID == 1 {
			return order.ErrUnavailable
		}
		return gate.ErrBarred
	}
	units := NewUnits(table, tally.New(time.Now), away, clock)
	unknown := guards.Ending{Outcome: guards.Unknown, ID: 5}
	for user := range int64(maxUnknown - 1) {
		units.end(1, Caller{UserID: user}, budget.Reservation{}, unknown)
	}
	for sale := int64(2); sale <= 3; sale++ {
		r, err := table.Reserve(u, sale, 7, a, 1)
		if err != nil {
			t.Fatal(err)
		}
		units.end(sale, Caller{UserID: 7, Address: a}, r, unknown)
	}
	if _, err := table.Reserve(u, 3, 8, a, 1); err != nil {
		t.Errorf("beyond the bound: %v", err)
	}
	if _, err := table.Reserve(u, 2, 8, a, 1); err == nil {
		t.Error("within the bound it is free before it is known")
	}
	now = now.Add(time.Minute)
	for range maxUnknown / unknownAtOnce {
		units.round(t.Context())
	}
	if _, err := table.Reserve(u, 2, 8, a, 1); err != nil {
		t.Errorf("behind a sale whose Redis is away: %v", err)
	}
}

// While the ledger hangs, thousands of places whose outcome it has do not keep the outcomes waiting that Redis has: one
// of them is looked up in a round.
func TestHangingLookUpsDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := budget.NewTable(time.Now)
		u, a := &guards.Units{PerAddress: 1}, netip.MustParseAddr("192.0.2.7")
		barred := func(context.Context, int64, int64) error { return gate.ErrBarred }
		units := NewUnits(table, tally.New(time.Now), barred, time.Now)
		looked := 0
		hang := func(ctx context.Context) guards.Ending {
			looked++
			<-ctx.Done()
			return guards.Ending{Outcome: guards.Unknown}
		}
		unknown := guards.Ending{Outcome: guards.Unknown, Look: hang}
		for user := range int64(unknownAtOnce - 1) {
			units.end(1, Caller{UserID: user}, budget.Reservation{}, unknown)
		}
		r, err := table.Reserve(u, 2, 7, a, 1)
		if err != nil {
			t.Fatal(err)
		}
		units.end(2, Caller{UserID: 7, Address: a}, r, guards.Ending{Outcome: guards.Unknown, ID: 5})
		time.Sleep(unknownAfter)
		began := time.Now()
		units.round(t.Context())
		if took := time.Since(began); took != unknownTimeout || looked != 1 || len(units.waiting) != unknownAtOnce-1 {
			t.Errorf("the round took %s and asked the ledger %d times; %d wait", took, looked, len(units.waiting))
		}
		if _, err := table.Reserve(u, 2, 8, a, 1); err != nil {
			t.Errorf("behind look-ups that hang: %v", err)
		}
	})
}

// Over HTTP: an address buys its share and no more; whom the sale refuses leaves theirs to others; a buyer who has an
// order hears it; a dry run stops nobody.
func TestShareOfASale(t *testing.T) {
	t.Parallel()
	f, a := newGated(t, &guards.Settings{Units: &guards.Units{PerAddress: 3, PerNetwork: 100}})
	f.fails = gate.ErrSoldOut
	for user := range int64(10) {
		refused(t, do(t, a, pressOf(t, 100+user)), http.StatusConflict, "SOLD_OUT")
	}
	f.fails = nil
	for i := range int64(3) {
		if w := do(t, a, pressOf(t, 200+i)); w.Code != http.StatusAccepted {
			t.Fatalf("unit %d: %d %s", i, w.Code, w.Body)
		}
	}
	w := do(t, a, press())
	refused(t, w, http.StatusForbidden, "SHARE_TAKEN")
	if diff := cmp.Diff(map[string]any{"guard": "units", "orderKnown": false, "of": "address"},
		guardOf(t, w.Body.Bytes())); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	f.own = &gate.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}
	refused(t, do(t, a, press()), http.StatusConflict, "ALREADY_BOUGHT")
	f.settings = &guards.Settings{Units: &guards.Units{PerAddress: 3, DryRun: true}}
	if w := do(t, a, press()); w.Code != http.StatusAccepted {
		t.Errorf("with dryRun: %d", w.Code)
	}
	f.settings, f.own = &guards.Settings{Units: &guards.Units{PerAddress: 3, Shared: "192.0.2.1"}}, nil
	if w := do(t, a, pressOf(t, 300)); w.Code != http.StatusAccepted {
		t.Errorf("shared: %d", w.Code)
	}
}

// A purchase whose outcome is not known keeps its unit until it is: meanwhile the share is busy, not taken.
func TestShareAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, panics := range map[string]bool{"unknown": false, "panic": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, a := newGated(t, &guards.Settings{Units: &guards.Units{PerAddress: 1}})
			f.fails, f.panics = order.ErrUnknownOutcome, panics
			do(t, a, pressOf(t, 100))
			f.fails, f.panics = nil, false
			w := do(t, a, press())
			refused(t, w, http.StatusTooManyRequests, "SHARE_BUSY")
			if got := w.Header().Get("Retry-After"); got != "1" {
				t.Errorf("Retry-After is %s", got)
			}
			f.own = gate.ErrBarred
			f.now = apitest.Noon().Add(time.Minute)
			f.units.round(t.Context())
			if w := do(t, a, press()); w.Code != http.StatusAccepted {
				t.Errorf("once it is known that nothing was bought: %d %s", w.Code, w.Body)
			}
		})
	}
}

// One buyer cannot use up the share of their neighbours, with or without an order, on however many lines: only units
// that were accepted count.
func TestOneBuyerAndTheirNeighbours(t *testing.T) {
	t.Parallel()
	const share = 10
	bought := &gate.AlreadyBoughtError{OrderID: 1, Status: order.Unpaid}
	for name, c := range map[string]struct {
		first bool  // the buyer has an order that counts
		own   error // what Redis says of their order
		id    int64
		units int64 // that count after the cut purchases
	}{
		"a buyer with an order":            {true, bought, 1, 1},
		"somebody who gets nothing":        {false, gate.ErrBarred, 1, 0},
		"somebody whose purchase succeeds": {false, bought, 1, 1},
		"somebody with an older order":     {false, bought, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, a := newGated(t, &guards.Settings{Units: &guards.Units{PerAddress: share}})
			if f.id = c.id; c.first {
				do(t, a, pressOf(t, 7))
				f.own = c.own
			}
			f.fails = fmt.Errorf("%w: %w", order.ErrUnknownOutcome, context.Canceled)
			for range 300 {
				do(t, a, pressOf(t, 7))
			}
			f.fails, f.id = nil, 0
			for i := range int64(share - 1) {
				if w := do(t, a, pressOf(t, 100+i)); w.Code != http.StatusAccepted {
					t.Fatalf("neighbour %d: %d %s", i, w.Code, w.Body)
				}
			}
			f.own, f.now = c.own, f.now.Add(time.Minute)
			f.units.round(t.Context())
			f.own = nil
			more := int64(0)
			for do(t, a, pressOf(t, 200+more)).Code == http.StatusAccepted {
				more++
			}
			if more != 1-c.units {
				t.Errorf("%d more units could be had, want %d", more, 1-c.units)
			}
			want := share - 1 + c.units + more
			if d := f.tally.Take()[5]; d == nil || d.Units["192.0.2.0/24"] != want {
				t.Errorf("counted %+v, want %d", d, want)
			}
		})
	}
}

// A buyer who is remembered to have an order is answered before anything is reserved. Where Redis finds none, because
// they cancelled it, they buy again.
func TestRememberedBuyers(t *testing.T) {
	t.Parallel()
	f, a := newGated(t, &guards.Settings{Units: &guards.Units{PerAddress: 10}})
	do(t, a, pressOf(t, 7))
	f.own, f.fails = &gate.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}, errors.New("must not be asked")
	refused(t, do(t, a, pressOf(t, 7)), http.StatusConflict, "ALREADY_BOUGHT")
	f.own, f.fails, f.id = gate.ErrBarred, nil, 9
	if w := do(t, a, pressOf(t, 7)); w.Code != http.StatusAccepted || f.sold != 2 {
		t.Errorf("after cancelling: %d %s", w.Code, w.Body)
	}
}

func TestBuyersAreBounded(t *testing.T) {
	t.Parallel()
	b := newBuyers()
	for user := range int64(3 * maxBuyers) {
		if !b.add(1, user, user+1) || b.add(1, user, user+1) {
			t.Fatalf("user %d counts not once", user)
		}
	}
	if len(b.young)+len(b.old) > 2*maxBuyers || !b.has(1, 3*maxBuyers-1) || b.has(1, 0) || b.has(2, 3*maxBuyers-1) {
		t.Errorf("%d and %d are remembered", len(b.young), len(b.old))
	}
}

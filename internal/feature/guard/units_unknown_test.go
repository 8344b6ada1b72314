package guard

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/testkit/apitest"
	"seckill/internal/voucher/guards"
)

// While the outcome of a purchase is unknown its units stay taken. They are free once Redis says that the user has no
// order, and not before it says anything.
func TestUnknownUnits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own  error
		free bool
		sold int64
	}{
		"bought":      {&gate.AlreadyBoughtError{OrderID: 1}, false, 1},
		"not bought":  {gate.ErrBarred, true, 0},
		"not known":   {order.ErrUnavailable, false, 0},
		"paused":      {gate.ErrPaused, false, 0},
		"not decided": {nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := noon
			clock := func() time.Time { return now }
			table, tally := budget.NewTable(clock), tally.New(time.Now)
			sales := &fakeSales{own: c.own}
			u, a := &guards.Units{PerAddress: 1}, netip.MustParseAddr("192.0.2.7")
			unknown := NewUnknownUnits(table, tally, sales.OwnOrder, clock)
			r, err := table.Reserve(u, 1, a, 1)
			if err != nil {
				t.Fatal(err)
			}
			unknown.add(1, Caller{UserID: 7, Address: a}, r)
			// of no share: it is not asked for
			unknown.add(1, Caller{UserID: 8, Address: a}, budget.Reservation{Units: 1})
			now = now.Add(unknownAfter - time.Second)
			unknown.round(t.Context())
			if sales.asked != 0 {
				t.Error("it was asked too early")
			}
			now = now.Add(2 * time.Second)
			unknown.round(t.Context())
			unknown.round(t.Context())
			if _, err := table.Reserve(u, 1, a, 1); (err == nil) != c.free {
				t.Errorf("the unit is free: %t (%v)", err == nil, err)
			}
			if d := tally.Take()[1]; (d != nil) != (c.sold > 0) || d != nil && d.Units["192.0.2.0/24"] != c.sold {
				t.Errorf("counted: %+v", d)
			}
			again := errors.Is(c.own, order.ErrUnavailable) || errors.Is(c.own, gate.ErrPaused) || c.own == nil
			if again != (sales.asked == 2) || sales.asked < 1 {
				t.Errorf("it was asked %d times", sales.asked)
			}
		})
	}
}

// Over HTTP: an address buys its share and no more; whom the sale refuses leaves theirs to others; a buyer who has an
// order hears it; a dry run stops nobody.
func TestShareOfASale(t *testing.T) {
	t.Parallel()
	f, a := newGated(t, &guards.Settings{Units: &guards.Units{PerAddress: 3, PerNetwork: 100}})
	f.fails = gate.ErrSoldOut
	for range 10 {
		refused(t, do(t, a, press()), http.StatusConflict, "SOLD_OUT")
	}
	f.fails = nil
	for i := range 3 {
		if w := do(t, a, press()); w.Code != http.StatusAccepted {
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
	if w := do(t, a, press()); w.Code != http.StatusAccepted {
		t.Errorf("shared: %d", w.Code)
	}
}

// A purchase whose outcome is not known keeps its unit until it is.
func TestShareAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	f, a := newGated(t, &guards.Settings{Units: &guards.Units{PerAddress: 1}})
	f.fails = order.ErrUnknownOutcome
	do(t, a, press())
	f.fails = nil
	refused(t, do(t, a, press()), http.StatusForbidden, "SHARE_TAKEN")
	f.own = gate.ErrBarred
	f.now = apitest.Noon().Add(time.Minute)
	f.unknown.round(t.Context())
	if w := do(t, a, press()); w.Code != http.StatusAccepted {
		t.Errorf("once it is known that nothing was bought: %d %s", w.Code, w.Body)
	}
}

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"seckill/internal/feature/guard/tally"
	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher/guards"
)

// someFigures has counted something.
func someFigures(context.Context, order.SaleRef) (tally.Figures, error) {
	return tally.Figures{
		Counts:  map[tally.Count]int64{"stop:limits": 60, "dry:coolDown": 4, "units:day": 1, "units:older": 2},
		Stopped: []tally.NetworkCount{{Network: "192.0.2.0/24", Count: 50}, {Network: tally.OtherNetworks, Count: 14}},
		Units:   []tally.NetworkCount{{Network: "2001:db8::/48", Count: 3}},
	}, nil
}

// A report has the figures of guards as JSON; zeros, if they cannot be read.
func TestGuardFigures(t *testing.T) {
	t.Parallel()
	v := ordertest.VoucherAt(1, 0)
	v.Sale.Guards = &guards.Settings{Limits: &guards.Limits{PerUser: &guards.Rate{Requests: 5, Seconds: 10}}}
	broken := errors.New("no connection")
	for _, test := range []struct {
		name string
		read func(context.Context, order.SaleRef) (tally.Figures, error)
		err  error
		json []string
	}{
		{
			"read", someFigures, nil,
			[]string{
				`"requests":5`,
				`"stopped":{"challenge":0,"conditions":0,"coolDown":0,"limits":60,"tickets":0,"units":0}`,
				`"unitNetworks":[{"network":"2001:db8::/48","count":3}]`,
			},
		},
		{
			"unread", func(context.Context, order.SaleRef) (tally.Figures, error) { return tally.Figures{}, broken },
			broken,
			[]string{`"requests":5`, `"limits":0`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			shown, err := ShownFigures(test.read)(t.Context(), v)
			text, bad := json.Marshal(shown)
			if !errors.Is(err, test.err) || bad != nil {
				t.Errorf("%v, %v", err, bad)
			}
			for _, part := range test.json {
				if !strings.Contains(string(text), part) {
					t.Errorf("no %s in %s", part, text)
				}
			}
		})
	}
}

// A sale without guards of which nothing was counted shows nothing.
func TestNoGuardFigures(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, order.SaleRef) (tally.Figures, error) { return tally.Figures{}, nil }
	shown, err := ShownFigures(nothing)(t.Context(), ordertest.VoucherAt(1, 0))
	if shown != nil || err != nil {
		t.Errorf("%v, %v", shown, err)
	}
}

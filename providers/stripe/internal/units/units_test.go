package units_test

import (
	"errors"
	"testing"

	"seckill/providers/stripe/internal/units"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		currency         string
		service, stripes int64
	}{
		{"EUR", 1000, 1000},
		{"eur", 1, 1},
		{"CNY", 1000, 1000},
		{"JPY", 500, 500},
		{"KRW", 500, 500},
		{"XAF", 500, 500},
		{"VND", 25_000, 25_000},
		{"ISK", 5, 500},
		{"UGX", 5, 500},
		{"isk", 0, 0},
		{"MGA", 500, 5},
		{"HUF", 1045, 1045},
		{"TWD", 80045, 80045},
		{"KWD", 5120, 5120},
		{"TND", 10, 10},
	} {
		got, err := units.ToStripe(tc.currency, tc.service)
		if err != nil || got != tc.stripes {
			t.Errorf("%s %d is %d at Stripe, %v, want %d", tc.currency, tc.service, got, err, tc.stripes)
		}
		back, err := units.FromStripe(tc.currency, tc.stripes)
		if err != nil || back != tc.service {
			t.Errorf("Stripe's %s %d is %d, %v, want %d", tc.currency, tc.stripes, back, err, tc.service)
		}
	}
}

func TestAmountsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		convert  func(string, int64) (int64, error)
		currency string
		amount   int64
		multiple int64
	}{
		{units.ToStripe, "KWD", 5124, 10},
		{units.ToStripe, "BHD", 1, 10},
		{units.ToStripe, "MGA", 20, 100},
		{units.FromStripe, "ISK", 550, 100},
		{units.FromStripe, "UGX", 1, 100},
	} {
		got, err := tc.convert(tc.currency, tc.amount)
		wrong, is := errors.AsType[*units.AmountError](err)
		if !is || wrong.Multiple != tc.multiple || wrong.Error() == "" {
			t.Errorf("%s %d is %d, %v", tc.currency, tc.amount, got, err)
		}
	}
}

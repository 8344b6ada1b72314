package redemption_test

import (
	"errors"
	"testing"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Once a sale is called off, no till redeems its coupons, also before their orders are unwound. The unwinder ends the
// reservations: no request that had one, or asks for another, gets any further. A redemption that is repeated is
// answered as before.
func TestCalledOffAtTills(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		cs := l.Paid(t, v, 3)
		free, reserved, redeemed := l.coupon(t, cs[0]), l.coupon(t, cs[1]), l.coupon(t, cs[2])
		do(t, l, reserve(reserved, "r"))
		if o := do(t, l, redeem(redeemed, "k")); o.Err != nil {
			t.Fatal(o.Err)
		}
		if _, err := l.CallOff(t.Context(), v, voucher.Author{AdminID: 7}, "the price was wrong"); err != nil {
			t.Fatal(err)
		}
		named := redeem(reserved, "k")
		named.Reservation = "r"
		for name, cmd := range map[string]redemption.Command{
			"redeem": redeem(free, "k"), "reserve": reserve(free, "s"), "redeem what is reserved": named,
		} {
			if o := do(t, l, cmd); !errors.Is(o.Err, redemption.ErrVoid) {
				t.Errorf("%s: %+v", name, o)
			}
		}
		if o := do(t, l, redeem(redeemed, "k")); o.Err != nil || !o.Repeated {
			t.Errorf("repeated: %+v", o)
		}
		if orders, _, err := l.Unwind(t.Context(), 1, v, 0, 9); err != nil || len(orders) != 2 {
			t.Fatalf("unwound %+v, %v", orders, err)
		}
		got := l.coupon(t, cs[1])
		if got.Status != order.Refunding || got.Reservation != (redemption.Reservation{}) || got.Ended == "" {
			t.Errorf("what was reserved is %+v", got)
		}
		l.Conserved(t, v)
	})
}

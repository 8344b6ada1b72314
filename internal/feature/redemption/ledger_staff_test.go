package redemption_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/redemption"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// actOn is an act of an admin on an order, with a key.
func actOn(c order.Claim, key string) order.StaffAct {
	by := voucher.Author{AdminID: 7, Key: idempotency.Key{Caller: 7, Name: key, Route: "POST /admin/order"}}
	return order.StaffAct{OrderID: c.OrderID, By: by, Why: "a mistake"}
}

// Staff undo a redemption: the coupon may be redeemed anew, but not by a late repetition of the request that did.
func TestUnredeem(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		c := l.Paid(t, v, 1)[0]
		coupon := l.coupon(t, c)
		if _, err := l.Unredeem(t.Context(), actOn(c, "k")); !ledgertest.InState(err, order.Paid) {
			t.Errorf("before it was redeemed: %v", err)
		}
		do(t, l, reserve(coupon, "r"))
		cmd := redeem(coupon, "reserve") // the key with which it was reserved: another request
		cmd.Reservation = "r"
		if o := do(t, l, cmd); o.Err != nil {
			t.Fatal(o.Err)
		}
		before := l.ReadOrder(t, c.OrderID)
		got, err := l.Unredeem(t.Context(), actOn(c, "k"))
		after := l.ReadOrder(t, c.OrderID)
		if err != nil || got.Status != order.Paid || got.Code != coupon.Code || got.RedeemedBy != 0 ||
			after.Status != order.Paid || !after.RedeemedAt.IsZero() || after.Number() != before.Number()+1 {
			t.Fatalf("Unredeem = %+v, %v; order %+v", got, err, after)
		}
		if _, err := l.Unredeem(t.Context(), actOn(c, "k")); !isRepeated(err, c) {
			t.Errorf("repeated: %v", err)
		}
		if o := do(t, l, cmd); !errors.Is(o.Err, redemption.ErrUndone) {
			t.Errorf("the request that redeemed it, repeated: %+v", o)
		}
		if o := do(t, l, reserve(coupon, "r2")); !errors.Is(o.Err, redemption.ErrReservationOver) {
			t.Errorf("the request that reserved it, repeated: %+v", o)
		}
		if o := do(t, l, redeem(coupon, "another")); o.Err != nil {
			t.Errorf("redeemed anew: %+v", o)
		}
		if n := l.ReadOrder(t, c.OrderID).Number(); n != after.Number()+1 {
			t.Errorf("number %d after %d", n, after.Number())
		}
		if o := do(t, l, cmd); !errors.Is(o.Err, redemption.ErrRedeemed) {
			t.Errorf("repeated once it was redeemed anew: %+v", o)
		}
		if _, err := l.Unredeem(t.Context(), actOn(order.Claim{OrderID: 5}, "l")); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("of none: %v", err)
		}
		if got := l.ReadHistory(t, c.OrderID); !strings.Contains(got, "\npaid by admin 7: REDEMPTION_UNDONE\n") {
			t.Errorf("history\n%s", got)
		}
		l.Conserved(t, v)
	})
}

func isRepeated(err error, c order.Claim) bool {
	before, is := errors.AsType[*idempotency.RepeatedError](err)
	return is && before.Made == fmt.Sprint(c.OrderID)
}

// Staff give coupons a later date, also lapsed ones, which are paid again and lapse at that date.
func TestExtend(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{ValidDays: 1})
		cs := l.Paid(t, v, 3)
		day := ledgertest.RecordedAt.AddDate(0, 0, 1)
		l.Exec(t, "UPDATE tb_coupon SET valid_until = ?, due_time = ? WHERE order_id = ?",
			ledgertest.Stored(ledgertest.RecordedAt), ledgertest.Stored(ledgertest.RecordedAt), cs[1].OrderID)
		if lapsed, _, err := l.LapseDue(t.Context(), 1, 9); err != nil || len(lapsed) != 1 {
			t.Fatalf("LapseDue = %+v, %v", lapsed, err)
		}
		for i, c := range cs[:2] {
			before := l.ReadOrder(t, c.OrderID).Number()
			got, err := l.Extend(t.Context(), actOn(c, fmt.Sprint("k", i)), day.Add(time.Hour))
			o := l.ReadOrder(t, c.OrderID)
			if err != nil || !got.ValidUntil.Equal(day.Add(time.Hour)) || got.Status != order.Paid ||
				o.Status != order.Paid || !o.LapsedAt.IsZero() || o.Number() != before+1 {
				t.Errorf("%d: Extend = %+v, %v; order %+v", i, got, err, o)
			}
			if !l.coupon(t, c).ValidUntil.Equal(day.Add(time.Hour)) {
				t.Errorf("%d: stored %+v", i, l.coupon(t, c))
			}
			if _, err := l.Extend(t.Context(), actOn(c, fmt.Sprint("k", i)), day); !isRepeated(err, c) {
				t.Errorf("%d: repeated: %v", i, err)
			}
			for _, until := range []time.Time{day, ledgertest.RecordedAt} {
				if _, err := l.Extend(t.Context(), actOn(c, "x"), until); !errors.Is(err, redemption.ErrNotLater) {
					t.Errorf("%d: until %v: %v", i, until, err)
				}
			}
			if got, err := l.Extend(t.Context(), actOn(c, fmt.Sprint("y", i)), day.Add(time.Hour)); err != nil ||
				l.ReadOrder(t, c.OrderID).Number() != before+1 {
				t.Errorf("%d: the same date: %+v, %v", i, got, err)
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_coupon WHERE due_time > ?",
			ledgertest.Stored(day.Add(30*time.Minute))); n != 2 {
			t.Errorf("%d coupons are due at their new date", n)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE action = 'extend' AND admin_id = 7"); n != 2 {
			t.Errorf("%d entries in the trail", n)
		}
		do(t, l, redeem(l.coupon(t, cs[2]), "k"))
		_, err := l.Extend(t.Context(), actOn(cs[2], "z"), day.Add(time.Hour))
		if !ledgertest.InState(err, order.Redeemed) {
			t.Errorf("a redeemed one: %v", err)
		}
		ever := l.Paid(t, l.redeemable(t, 9, voucher.Redemption{}), 1)[0]
		if _, err := l.Extend(t.Context(), actOn(ever, "z"), day); !errors.Is(err, redemption.ErrNotLater) {
			t.Errorf("one without a date: %v", err)
		}
		want := "\nlapsed by lapser: NOT_REDEEMED_IN_TIME\npaid by admin 7: EXTENDED 2026-06-02T21:00:00.123Z"
		if got := l.ReadHistory(t, cs[1].OrderID); !strings.HasSuffix(got, want) {
			t.Errorf("history\n%s", got)
		}
		l.Conserved(t, v)
	})
}

// A coupon that is extended while the lapser comes to it does not lapse by its old date.
func TestExtendWhileItLapses(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 20, voucher.Redemption{ValidDays: 1})
		until := ledgertest.RecordedAt.Add(time.Hour)
		for i, c := range l.Paid(t, v, 20) {
			l.Exec(t, "UPDATE tb_coupon SET valid_until = ?, due_time = ? WHERE order_id = ?",
				ledgertest.Stored(ledgertest.RecordedAt), ledgertest.Stored(ledgertest.RecordedAt), c.OrderID)
			extended, lapsed := ledgertest.Both(
				func() error { _, err := l.Extend(t.Context(), actOn(c, fmt.Sprint(i)), until); return err },
				func() error { _, _, err := l.LapseDue(t.Context(), int64(i+1), 9); return err })
			if extended != nil || lapsed != nil {
				t.Fatal(extended, lapsed)
			}
			if o := l.ReadOrder(t, c.OrderID); o.Status != order.Paid || l.Number(t,
				"SELECT COUNT(*) FROM tb_coupon WHERE order_id = ? AND due_time IS NOT NULL", c.OrderID) != 1 {
				t.Errorf("%d: %+v", i, o)
			}
		}
	})
}

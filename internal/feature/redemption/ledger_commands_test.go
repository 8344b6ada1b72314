package redemption_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// What tills do is in the order, in the coupon and in the history; what they are refused is nowhere.
func TestTillsChangeTheLedger(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		cs := l.Paid(t, v, 4)
		coupons := make([]redemption.Coupon, len(cs))
		for i, c := range cs {
			coupons[i] = l.coupon(t, c)
		}
		other := redemption.Till{ID: 71, ShopID: 1}
		late := redeem(coupons[1], "late")
		late.Reservation = "r1"
		byOther := redeem(coupons[1], "k")
		byOther.Till = other
		release := redemption.Command{Verb: redemption.Release, Till: till, Code: coupons[1].Code, Reservation: "r1"}
		foreign := redeem(coupons[2], "k")
		foreign.Till.ShopID = 2
		outcomes, err := l.Do(t.Context(), []redemption.Command{
			redeem(coupons[0], "k"), redeem(coupons[0], "k"), redeem(coupons[0], "l"),
			reserve(coupons[1], "r1"), byOther, release, late,
			foreign,
			{Verb: redemption.Validate, Till: till, Code: coupons[2].Code},
			redeem(redemption.Coupon{Code: "no such code"}, "k"),
			reserve(coupons[3], "r3"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []error{
			nil, nil, redemption.ErrRedeemed, nil, redemption.ErrReserved, nil, redemption.ErrReservationOver,
			redemption.ErrNotFound, nil, redemption.ErrNotFound, nil,
		} {
			if got := outcomes[i]; !errors.Is(got.Err, want) || want == nil && got.Err != nil ||
				got.Repeated != (i == 1) || !got.At.Equal(ledgertest.RecordedAt) {
				t.Errorf("command %d: %+v, want %v", i, got, want)
			}
		}
		if o := l.ReadOrder(t, cs[0].OrderID); o.Status != order.Redeemed ||
			!o.RedeemedAt.Equal(ledgertest.RecordedAt) {
			t.Errorf("the redeemed order is %+v", o)
		}
		got := l.coupon(t, cs[0])
		if got.RedeemedBy != till.ID || got.RedeemKey != "k" || !got.RedeemedAt.Equal(ledgertest.RecordedAt) ||
			got.Status != order.Redeemed {
			t.Errorf("the redeemed coupon is %+v", got)
		}
		if outcome := do(t, l, redeem(coupons[0], "k")); !outcome.Repeated {
			t.Errorf("asked again in another transaction: %+v", outcome)
		}
		if o := do(t, l, reserve(coupons[1], "r9")); !errors.Is(o.Err, redemption.ErrReservationOver) {
			t.Errorf("a released reservation is asked for again: %+v", o)
		}
		if got := l.coupon(t, cs[3]).Reservation; got.ID != "r3" || got.Till != till.ID ||
			!got.Until.Equal(ledgertest.RecordedAt.Add(redemption.ReservationTime)) {
			t.Errorf("reservation %+v", got)
		}
		for i, want := range []string{
			"redeemed by till 70: ",
			"paid by till 70: RESERVED 2026-06-01T20:02:00.123Z\npaid by till 70: RELEASED",
			"", "paid by till 70: RESERVED 2026-06-01T20:02:00.123Z",
		} {
			_, since, _ := strings.Cut(l.ReadHistory(t, cs[i].OrderID)+"\n", "\n")
			if strings.TrimSuffix(since, "\n") != want {
				t.Errorf("history %d: %q, want %q", i, since, want)
			}
		}
		l.Conserved(t, v)
	})
}

// A reservation bars the refund, until its time by the ledger's clock; a date that has passed bars it for good.
func TestRefundOfCoupons(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		cs := l.Paid(t, v, 3)
		ask := func(c order.Claim) error {
			_, err := l.AskRefund(t.Context(), c.UserID, c.OrderID)
			return err
		}
		coupon := l.coupon(t, cs[0])
		do(t, l, reserve(coupon, "r"))
		if err := ask(cs[0]); !errors.Is(err, redemption.ErrReserved) {
			t.Errorf("while it is reserved: %v", err)
		}
		l.Exec(t, "UPDATE tb_coupon SET reserved_until = ?", ledgertest.Stored(ledgertest.RecordedAt))
		if err := ask(cs[0]); err != nil {
			t.Errorf("after that: %v", err)
		}
		if o := do(t, l, redeem(coupon, "k")); !errors.Is(o.Err, redemption.ErrVoid) {
			t.Errorf("redeeming a refunded one: %+v", o)
		}
		do(t, l, redeem(l.coupon(t, cs[1]), "k"))
		if err := ask(cs[1]); !ledgertest.InState(err, order.Redeemed) {
			t.Errorf("a redeemed one: %v", err)
		}
		l.Exec(t, "UPDATE tb_coupon SET valid_until = ? WHERE order_id = ?",
			ledgertest.Stored(ledgertest.RecordedAt), cs[2].OrderID)
		if err := ask(cs[2]); !ledgertest.InState(err, order.Lapsed) ||
			l.ReadOrder(t, cs[2].OrderID).Status != order.Paid {
			t.Errorf("past its date: %v", err)
		}
		l.Conserved(t, v)
	})
}

func TestLapseDue(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{ValidDays: 1})
		cs := l.Paid(t, v, 7)
		date := func(at time.Time, cs ...order.Claim) {
			for _, c := range cs {
				l.Exec(t, "UPDATE tb_coupon SET valid_until = ?, due_time = ? WHERE order_id = ?",
					ledgertest.Stored(at), ledgertest.Stored(at), c.OrderID)
			}
		}
		do(t, l, redeem(l.coupon(t, cs[2]), "k"))
		do(t, l, reserve(l.coupon(t, cs[3]), "r"))
		date(ledgertest.RecordedAt, cs[0], cs[1], cs[3], cs[4], cs[6])
		date(ledgertest.RecordedAt.Add(time.Millisecond), cs[5])
		l.Force(t, order.Refunded, cs[4].OrderID)
		lapse := func(token int64, n, wantLapsed, wantSeen int) {
			t.Helper()
			lapsed, seen, err := l.LapseDue(t.Context(), token, n)
			if err != nil || len(lapsed) != wantLapsed || seen != wantSeen {
				t.Errorf("LapseDue = %d lapsed of %d, %v; want %d of %d", len(lapsed), seen, err, wantLapsed, wantSeen)
			}
			for _, o := range lapsed {
				if o.Status != order.Lapsed || !o.LapsedAt.Equal(ledgertest.RecordedAt) {
					t.Errorf("lapsed: %+v", o)
				}
			}
		}
		lapse(2, 2, 2, 2)
		lapse(2, 9, 1, 2) // one is refunded, and is not looked at again
		lapse(2, 9, 0, 0)
		if _, _, err := l.LapseDue(t.Context(), 1, 9); !errors.Is(err, order.ErrSuperseded) {
			t.Errorf("a lower token: %v", err)
		}
		var got []order.Status
		for _, c := range cs {
			got = append(got, l.ReadOrder(t, c.OrderID).Status)
		}
		want := []order.Status{
			order.Lapsed, order.Lapsed, order.Redeemed, order.Paid, order.Refunded, order.Paid, order.Lapsed,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("orders (-want +got):\n%s", diff)
		}
		if h := l.ReadHistory(t, cs[0].OrderID); !strings.HasSuffix(h, "lapsed by lapser: NOT_REDEEMED_IN_TIME") {
			t.Errorf("history %q", h)
		}
		l.Exec(t, "UPDATE tb_coupon SET reserved_until = ? WHERE order_id = ?",
			ledgertest.Stored(ledgertest.RecordedAt), cs[3].OrderID)
		lapse(3, 9, 1, 1)
		if o := do(t, l, redeem(l.coupon(t, cs[0]), "k")); !errors.Is(o.Err, redemption.ErrLapsed) {
			t.Errorf("redeeming a lapsed one: %+v", o)
		}
		l.Exec(t, "UPDATE tb_voucher_order SET status = 2 WHERE id = ?", cs[4].OrderID) // as it was forced
		l.Conserved(t, v)                                                               // a lapsed order keeps its unit
	})
}

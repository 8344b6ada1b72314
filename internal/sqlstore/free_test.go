package sqlstore_test

import (
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/redemption"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// free creates a sale of a voucher that costs nothing and is redeemed by a code.
func (l ledger) free(tb testing.TB, stock int64) int64 {
	tb.Helper()
	l.ReadKeys(tb)
	v := ledgertest.Draft()
	v.Kind, v.PayValue, v.Redemption = voucher.Seckill, 0, redemption30Days()
	v.Sale = &voucher.Sale{
		Stock: stock, Issued: stock, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour),
		OfferWithin: offerTime,
	}
	if err := l.CreateVoucher(tb.Context(), &v, ledgertest.Admin); err != nil {
		tb.Fatal(err)
	}
	if _, err := l.RaiseEpoch(tb.Context(), v.ID, 0); err != nil {
		tb.Fatal(err)
	}
	return v.ID
}

// seenPaid is all that hooks see of an order that costs nothing.
func seenPaid() []string { return []string{"pay: paid by payments NOTHING_TO_PAY"} }

func redemption30Days() voucher.Redemption { return voucher.Redemption{ByCode: true, ValidDays: 30} }

// paidForNothing fails unless the order is paid, with its history, a code, and no payment.
func (l ledger) paidForNothing(t *testing.T, id int64) redemption.Coupon {
	t.Helper()
	o := l.ReadOrder(t, id)
	if o.Status != order.Paid || o.PaidAt.IsZero() || o.Amount != 0 {
		t.Errorf("order %d: %+v", id, o)
	}
	if got := l.ReadHistory(t, id); !strings.HasSuffix(got, "paid by "+string(order.ByPayments)+": NOTHING_TO_PAY") {
		t.Errorf("order %d: %s", id, got)
	}
	if ps, err := l.PaymentsOf(t.Context(), id); err != nil || len(ps) != 0 {
		t.Errorf("order %d has the payments %v, %v", id, ps, err)
	}
	c := l.coupon(t, order.Claim{OrderID: id, UserID: o.UserID})
	if c.Code == "" || !c.ValidUntil.Equal(o.PaidAt.AddDate(0, 0, 30)) {
		t.Errorf("order %d, paid %v, has the coupon %+v", id, o.PaidAt, c)
	}
	return c
}

// What costs nothing is paid once it is recorded, with its code, in whichever way it is recorded; beside orders of
// other sales that are not. Hooks see it paid, and not unpaid.
func TestFreeOrdersArePaid(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		free, dear := l.free(t, 9), l.Seckill(t, 9)
		s := l.spies(t)
		told := map[int64][]string{}
		batch := append(ledgertest.Claims(free, 1, 3), ledgertest.Claims(dear, 11, 2)...)
		l.Record(t, batch)
		codes := map[redemption.Code]bool{}
		for _, c := range batch[:3] {
			codes[l.paidForNothing(t, c.OrderID).Code] = true
			told[c.OrderID] = seenPaid()
		}
		if len(codes) != 3 {
			t.Errorf("%d codes for three orders", len(codes))
		}
		for _, c := range batch[3:] {
			if o := l.ReadOrder(t, c.OrderID); o.Status != order.Unpaid {
				t.Errorf("an order with a price is %s", o.Status)
			}
			told[c.OrderID] = []string{"record: unpaid by recorder"}
		}

		decided := ledgertest.Claims(free, 5, 1)[0] // by the conflict resolver
		err := l.Settle(t.Context(), []order.Claim{decided}, func(order.LedgerView) []order.Decision {
			return []order.Decision{{Claim: decided, Verb: order.Insert, RowID: decided.OrderID}}
		})
		if err != nil {
			t.Fatal(err)
		}
		l.paidForNothing(t, decided.OrderID)

		v := ledgertest.Draft()
		v.PayValue, v.Redemption = 0, redemption30Days()
		if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			o, err := l.RecordDirectSale(t.Context(), 8888, 1, v.ID, "key")
			if err != nil || o.Status != order.Paid {
				t.Errorf("an ordinary voucher: %+v, %v", o, err)
			}
			l.paidForNothing(t, 8888)
		}
		told[decided.OrderID], told[8888] = seenPaid(), seenPaid()
		s.saw(l, told)
	})
}

// A free order that is given back ends at once, and its unit goes to who waits; a redeemed one stays.
func TestFreeOrdersAreGivenBack(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		free := l.free(t, 2)
		cs := l.NewOrders(t, free, 2)
		l.join(t, free, 11)
		for range 2 { // repeating it is harmless
			o, err := l.AskRefund(t.Context(), cs[0].UserID, cs[0].OrderID)
			if err != nil || o.Status != order.Refunded {
				t.Fatalf("given back: %+v, %v", o, err)
			}
		}
		if got := l.placeStates(t, free, 11); got != "offered" {
			t.Errorf("who waits is %s", got)
		}
		l.accepts(t, free, 11, 911)
		l.ApplyAll(t, free)
		l.paidForNothing(t, 911)
		const by = string(order.ByPayments)
		const want = "paid by " + by + ": NOTHING_TO_PAY\nrefunding by owner: \nrefunded by " +
			by + ": NOTHING_TO_PAY_BACK"
		if got := l.ReadHistory(t, cs[0].OrderID); got != want {
			t.Errorf("history\n%s\nwant\n%s", got, want)
		}

		if out := do(t, l.Store, redeem(l.coupon(t, cs[1]), "k")); out.Err != nil {
			t.Fatal(out.Err)
		}
		if _, err := l.AskRefund(t.Context(), cs[1].UserID, cs[1].OrderID); err == nil {
			t.Error("a redeemed coupon was given back")
		}
	})
}

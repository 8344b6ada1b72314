package sqlstore_test

import (
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// free creates a sale of a voucher that costs nothing.
func (l ledger) free(tb testing.TB, stock int64) int64 {
	tb.Helper()
	v := ledgertest.Draft()
	v.Kind, v.PayValue = voucher.Seckill, 0
	v.Sale = &voucher.Sale{
		Stock: stock, Issued: stock, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour),
		InviteWindow: time.Minute,
	}
	if err := l.CreateVoucher(tb.Context(), &v, ledgertest.Admin); err != nil {
		tb.Fatal(err)
	}
	if _, err := l.RaiseEpoch(tb.Context(), v.ID, 0, order.SaleView{}); err != nil {
		tb.Fatal(err)
	}
	return v.ID
}

// seenPaid is all that hooks see of an order that costs nothing.
func seenPaid() []string { return []string{"pay: paid by payments NOTHING_TO_PAY"} }

// paidForNothing fails unless the order is paid, with its history, and no payment.
func (l ledger) paidForNothing(t *testing.T, id int64) {
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
}

// What costs nothing is paid once it is recorded, in whichever way it is recorded; beside orders of other sales that
// are not. Hooks see it paid, and not unpaid.
func TestFreeOrdersArePaid(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		free, dear := l.free(t, 9), l.Seckill(t, 9)
		s := l.spies(t)
		told := map[int64][]string{}
		batch := append(ledgertest.Claims(free, 1, 3), ledgertest.Claims(dear, 11, 2)...)
		l.Record(t, batch)
		for _, c := range batch[:3] {
			l.paidForNothing(t, c.OrderID)
			told[c.OrderID] = seenPaid()
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
		v.PayValue = 0
		if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			o, err := l.RecordDirectSale(t.Context(), 8888, 1, v.ID, keyed(1, "key"))
			if err != nil || o.Status != order.Paid {
				t.Errorf("an ordinary voucher: %+v, %v", o, err)
			}
			l.paidForNothing(t, 8888)
		}
		told[decided.OrderID], told[8888] = seenPaid(), seenPaid()
		s.saw(l, told)
	})
}

// A free order that is given back ends at once, and its unit is kept where somebody waits; a redeemed one stays.
func TestFreeOrdersAreGivenBack(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		free := l.free(t, 2)
		cs := l.NewOrders(t, free, 2)
		l.OpenList(t, free)
		for range 2 { // repeating it is harmless
			o, err := l.AskRefund(t.Context(), cs[0].UserID, cs[0].OrderID)
			if err != nil || o.Status != order.Refunded {
				t.Fatalf("given back: %+v, %v", o, err)
			}
		}
		if sale := l.Sale(t, free); sale.Kept != 1 || sale.Stock != 0 {
			t.Errorf("the sale is %+v", sale)
		}
		l.Accepts(t, free, 11, 911)
		l.ApplyAll(t, free)
		l.paidForNothing(t, 911)
		const by = string(order.ByPayments)
		const want = "paid by " + by + ": NOTHING_TO_PAY\nrefunding by owner: \nrefunded by " +
			by + ": NOTHING_TO_PAY_BACK"
		if got := l.ReadHistory(t, cs[0].OrderID); got != want {
			t.Errorf("history\n%s\nwant\n%s", got, want)
		}

		l.Transitioned(t, cs[1], order.Redeem)
		if _, err := l.AskRefund(t.Context(), cs[1].UserID, cs[1].OrderID); err == nil {
			t.Error("a redeemed order was given back")
		}
	})
}

package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
)

// lateIn has orders of a share cancelled and paid for after it, each by a user of their own, and returns what their payments lack once
// Redis has refused them.
func (l ledger) lateIn(tb testing.TB, id order.SaleID, cs []order.Claim) []order.LackingPayment {
	tb.Helper()
	insert(tb, l, cs)
	var lacking []order.LackingPayment
	for _, c := range cs {
		p := l.pays(tb, c)
		l.transitioned(tb, c, order.Cancel)
		l.complete(tb, id)
		if got, o := l.receives(tb, p); got.State != order.PaymentLate || o.Status != order.Cancelled {
			tb.Fatalf("received: %+v, %+v", got, o)
		}
		ops := l.pendingOf(tb, id)
		l.refuse(tb, id)
		lacking = append(lacking, order.LackingPayment{PaymentID: p.ID, Operation: ops[len(ops)-1].Number, Sale: id, Units: c.Quantity.Units()})
	}
	return lacking
}

// refuse completes what is pending of a share, as if Redis had refused what takes.
func (l ledger) refuse(tb testing.TB, id order.SaleID) {
	tb.Helper()
	if err := l.CompleteOperations(tb.Context(), id, results(l.pendingOf(tb, id), false)); err != nil {
		tb.Fatal(err)
	}
}

// lacking returns what late payments lack units.
func (l ledger) lacking(tb testing.TB, each, n int) []order.LackingPayment {
	tb.Helper()
	lacking, err := l.Lacking(tb.Context(), each, n)
	if err != nil {
		tb.Fatal(err)
	}
	return lacking
}

// A late payment that its share of a split sale has no unit for stays late until units have come there, or the whole sale has none;
// each is written once.
func TestLacking(t *testing.T) {
	const arrived = "cancelled by owner: \ncancelled by payment provider: the payment arrived after the order was cancelled\n"
	const paid = "paid by " + string(order.ByPayments) + ": a unit was taken again for the late payment"
	const sentBack = "cancelled by " + string(order.ByPayments) + ": no unit could be taken again for the late payment; the money goes back"
	eachDialect(t, func(t *testing.T, l ledger) {
		type decide = func(lacks order.LackingPayment) error
		revive := func(lacks order.LackingPayment) error { return l.ReviveLacking(t.Context(), lacks) }
		refuse := func(lacks order.LackingPayment) error { return l.RefuseLacking(t.Context(), lacks) }
		for name, test := range map[string]struct {
			decide  []decide
			taken   bool // what was asked for anew
			pending int
			status  order.Status
			payment order.PaymentState
			event   string
			stocks  []int64
		}{
			"units have come":         {[]decide{revive, revive, refuse}, true, 1, order.Paid, order.PaymentReceived, paid, []int64{5, 4}},
			"they came and were sold": {[]decide{revive, revive}, false, 1, order.Cancelled, order.PaymentLate, "", []int64{5, 5}},
			"the whole sale has none": {[]decide{refuse, refuse, revive}, false, 0, order.Cancelled, order.PaymentRefunding, sentBack, []int64{5, 5}},
			"nobody has decided yet":  {nil, false, 0, order.Cancelled, order.PaymentLate, "", []int64{5, 5}},
			"asked for anew by two at once": {[]decide{func(lacks order.LackingPayment) error {
				return errors.Join(both(func() error { return revive(lacks) }, func() error { return revive(lacks) }))
			}}, true, 1, order.Paid, order.PaymentReceived, paid, []int64{5, 4}},
		} {
			v := l.split(t, 2, 10)
			one := order.SaleID{VoucherID: v, Share: 1}
			cs := claimsOf(one, 1, 1)
			lacks := l.lateIn(t, one, cs)[0]
			if diff := cmp.Diff([]order.LackingPayment{lacks}, l.lacking(t, 9, 9)); diff != "" {
				t.Fatalf("%s: lacking (-want +got):\n%s", name, diff)
			}
			if got, err := l.ReviveLate(t.Context(), 10); err != nil || got != nil {
				t.Errorf("%s: asked for again without units: %v, %v", name, got, err)
			}
			for _, decide := range test.decide {
				if err := decide(lacks); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if ops := l.pendingOf(t, one); len(ops) != test.pending {
				t.Errorf("%s: %+v are pending", name, ops)
			}
			if err := l.CompleteOperations(t.Context(), one, results(l.pendingOf(t, one), test.taken)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			id := cs[0].OrderID
			if got := l.order(t, id).Status; got != test.status || l.payment(t, lacks.PaymentID) != test.payment || l.history(t, id) != arrived+test.event && l.history(t, id)+"\n" != arrived+test.event {
				t.Errorf("%s: the order is %s and the payment %s; history\n%s", name, got, l.payment(t, lacks.PaymentID), l.history(t, id))
			}
			if diff := cmp.Diff(test.stocks, l.stocks(t, v)); diff != "" {
				t.Errorf("%s: stock (-want +got):\n%s", name, diff)
			}
			still := l.lacking(t, 9, 9)
			if (len(still) == 1) != (test.payment == order.PaymentLate) {
				t.Errorf("%s: lacking %+v", name, still)
			}
			for _, lacks := range still { // for the next
				if err := l.RefuseLacking(t.Context(), lacks); err != nil {
					t.Error(err)
				}
			}
		}
		if err := revive(order.LackingPayment{PaymentID: "pay_"}); !errors.Is(err, order.ErrNoPayment) {
			t.Errorf("of no payment: %v", err)
		}
	})
}

// What else decides about a late payment that lacks units: its buyer has bought again, or its share has left Redis. In a sale that is
// not split there is none.
func TestLackingNoMore(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.split(t, 2, 10)
		zero := order.SaleID{VoucherID: v}
		lacks := l.lateIn(t, zero, claimsOf(zero, 1, 1))[0]
		again := claimsOf(zero, 1, 1)
		insert(t, l, again)
		if err := l.ReviveLacking(t.Context(), lacks); err != nil {
			t.Fatal(err)
		}
		l.refuse(t, zero) // Redis has the other order
		if got := l.payment(t, lacks.PaymentID); got != order.PaymentRefunding || len(l.lacking(t, 9, 9)) != 0 {
			t.Errorf("bought again: the payment is %s", got)
		}

		retired := l.lateIn(t, zero, claimsOf(zero, 11, 1))[0]
		l.over(t, v)
		sale := l.sale(t, v)
		if done, err := l.Retire(t.Context(), zero, sale.At(0).LastOperation); err != nil || !done {
			t.Fatalf("Retire = %t, %v", done, err)
		}
		if got := l.lacking(t, 9, 9); len(got) != 0 {
			t.Errorf("retired, it lacks units: %+v", got)
		}
		if got, err := l.ReviveLate(t.Context(), 10); err != nil || !cmp.Equal([]int64{v}, got) || l.payment(t, retired.PaymentID) != order.PaymentRefunding {
			t.Errorf("retired: %v, %v; the payment is %s", got, err, l.payment(t, retired.PaymentID))
		}

		w := l.seckill(t, 10)
		c := l.late(t, w, 1)
		l.refuse(t, saleID(w))
		if got := l.payment(t, fmt.Sprintf("pay_%d", c.OrderID)); got != order.PaymentRefunding || len(l.lacking(t, 9, 9)) != 0 {
			t.Errorf("not split: the payment is %s", got)
		}
	})
}

// Those of one share do not keep others from being seen to.
func TestLackingOfManyShares(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.split(t, 2, 20)
		zero, one := order.SaleID{VoucherID: v}, order.SaleID{VoucherID: v, Share: 1}
		first := l.lateIn(t, zero, claimsOf(zero, 1, 3))
		for i, lacks := range first {
			l.exec(t, "UPDATE tb_payment SET create_time = ? WHERE id = ?", stored(recordedAt.Add(time.Duration(i-9)*time.Minute)), lacks.PaymentID)
		}
		three := claimsOf(one, 11, 1)
		three[0].Quantity = order.QuantityOf(3)
		second := l.lateIn(t, one, three)
		for _, test := range []struct {
			each, n int
			want    []order.LackingPayment
		}{
			{2, 9, []order.LackingPayment{first[0], first[1], second[0]}},
			{9, 2, first[:2]},
			{9, 9, append(first[:3:3], second...)},
		} {
			if diff := cmp.Diff(test.want, l.lacking(t, test.each, test.n)); diff != "" {
				t.Errorf("%d of each share, %d in all (-want +got):\n%s", test.each, test.n, diff)
			}
		}
	})
}

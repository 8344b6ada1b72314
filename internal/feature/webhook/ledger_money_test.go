package webhook_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// paid is a payment as events show it.
type paid struct {
	ID, State, Dispute, Refusal                            string
	Amount, ReceivedAmount, ReturnedAmount, RefundedAmount int64
	LostAmount, KeptAmount                                 int64
	Refunds                                                []refunded
}

// refunded is a refund as events show it.
type refunded struct {
	ID, State string
	Amount    int64
}

// copied builds orders' states and their payments from all events, as a receiver does.
func (l ledger) copied(tb testing.TB) (orders map[string]string, payments map[string]paid) {
	tb.Helper()
	l.numbered(tb)
	rows, err := l.Raw.QueryContext(tb.Context(), "SELECT body FROM tb_webhook_event ORDER BY number")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // it was read to its end
	orders, payments = map[string]string{}, map[string]paid{}
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			tb.Fatal(err)
		}
		var e struct {
			Type string
			Data json.RawMessage
		}
		var o struct {
			ID, Status string
			Payments   []paid
		}
		var p paid
		err := json.Unmarshal([]byte(body), &e)
		switch {
		case err != nil, strings.HasPrefix(e.Type, "sale."):
		case strings.HasPrefix(e.Type, "order."):
			err = json.Unmarshal(e.Data, &o)
			orders[o.ID] = o.Status
			for _, p := range o.Payments {
				payments[p.ID] = p
			}
		default:
			err = json.Unmarshal(e.Data, &p)
			payments[p.ID] = p
		}
		if err != nil {
			tb.Fatalf("%s: %v", body, err)
		}
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return orders, payments
}

// inLedger returns the same of some orders from the ledger. Open payments have no event.
func (l ledger) inLedger(tb testing.TB, ids []int64) (orders map[string]string, payments map[string]paid) {
	tb.Helper()
	orders, payments = map[string]string{}, map[string]paid{}
	for _, id := range ids {
		orders[fmt.Sprint(id)] = l.ReadOrder(tb, id).Status.String()
		of, err := l.PaymentsOf(tb.Context(), id)
		if err != nil {
			tb.Fatal(err)
		}
		for _, p := range of {
			found, err := l.RefundsOf(tb.Context(), []string{p.ID})
			if err != nil {
				tb.Fatal(err)
			}
			shown := paid{
				ID: p.ID, State: p.State.String(), Dispute: p.Dispute.String(), Refusal: p.Refusal, Amount: p.Amount,
				ReceivedAmount: p.Received(), ReturnedAmount: p.Returned, RefundedAmount: p.RefundedAmount(),
				LostAmount: p.LostAmount(), KeptAmount: p.Kept(),
			}
			for _, r := range found[p.ID] {
				shown.Refunds = append(shown.Refunds, refunded{r.ID, r.State.String(), r.Amount})
			}
			if p.State != payment.Open {
				payments[p.ID] = shown
			}
		}
	}
	return orders, payments
}

// byStaff is an act of an admin on a payment.
func byStaff(id, route string) order.PaymentAct {
	by := voucher.Author{AdminID: 7, Request: "r"}
	by.Key = idempotency.Key{Caller: 7, Name: id, Route: route, Body: idempotency.Digest([]byte("{}"))}
	return order.PaymentAct{PaymentID: id, By: by, Why: "we have called them"}
}

// Whichever way the money of an order goes, a copy that is made of events alone has the ledger's payments and refunds.
func TestMoneyIsInTheEvents(t *testing.T) {
	asks := func(t *testing.T, l ledger, c order.Claim) {
		t.Helper()
		if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
			t.Fatal(err)
		}
	}
	sent := func(t *testing.T, l ledger, id string) {
		t.Helper()
		if _, _, due, err := l.SendRefund(t.Context(), id, ""); err != nil || !due {
			t.Fatalf("SendRefund = %t, %v", due, err)
		}
		if _, err := l.Refunded(t.Context(), id, id, "r_1"); err != nil {
			t.Fatal(err)
		}
	}
	noticed := func(t *testing.T, l ledger, n payment.Notice) {
		t.Helper()
		if _, _, err := l.TakeNotice(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	ways := map[string]func(t *testing.T, l ledger, c order.Claim, id string){
		"paid": func(*testing.T, ledger, order.Claim, string) {},
		"its owner wants it back": func(t *testing.T, l ledger, c order.Claim, _ string) {
			t.Helper()
			asks(t, l, c)
		},
		"it has gone back": func(t *testing.T, l ledger, c order.Claim, id string) {
			t.Helper()
			asks(t, l, c)
			sent(t, l, id)
		},
		"a part has gone back": func(t *testing.T, l ledger, _ order.Claim, id string) {
			t.Helper()
			if _, _, err := l.RefundPart(t.Context(), byStaff(id, "part"), 300); err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := l.SendRefund(t.Context(), id, id+"-1"); err != nil {
				t.Fatal(err)
			}
			done := payment.Outcome{State: payment.RefundDone}
			if _, _, err := l.RefundAnswered(t.Context(), id, id+"-1", done); err != nil {
				t.Fatal(err)
			}
		},
		"refused for good": func(t *testing.T, l ledger, c order.Claim, id string) {
			t.Helper()
			asks(t, l, c)
			if _, err := l.Refused(t.Context(), id, id, "no such card"); err != nil {
				t.Fatal(err)
			}
		},
		"refused and closed": func(t *testing.T, l ledger, c order.Claim, id string) {
			t.Helper()
			asks(t, l, c)
			if _, err := l.Refused(t.Context(), id, id, "no such card"); err != nil {
				t.Fatal(err)
			}
			if _, _, err := l.CloseRefund(t.Context(), byStaff(id, "close")); err != nil {
				t.Fatal(err)
			}
		},
		"disputed and lost": func(t *testing.T, l ledger, _ order.Claim, id string) {
			t.Helper()
			noticed(t, l, payment.Notice{Kind: payment.NoticeDisputed, PaymentID: id, Amount: 1000})
			noticed(t, l, payment.Notice{Kind: payment.NoticeDisputeLost, PaymentID: id, Amount: 1000})
			sentIfDue(t, l, id)
		},
		"returned at the provider": func(t *testing.T, l ledger, _ order.Claim, id string) {
			t.Helper()
			noticed(t, l, payment.Notice{Kind: payment.NoticeReturned, PaymentID: id, Amount: 1000})
			sentIfDue(t, l, id)
		},
	}
	late := map[string]func(t *testing.T, l ledger, c order.Claim, id string){
		"late, while a unit is asked for": func(*testing.T, ledger, order.Claim, string) {},
		"late, with a unit": func(t *testing.T, l ledger, c order.Claim, _ string) {
			t.Helper()
			l.ApplyAll(t, c.VoucherID)
		},
		"late, and too late": func(t *testing.T, l ledger, c order.Claim, id string) {
			t.Helper()
			refused := ledgertest.Results(l.ReadPending(t, c.VoucherID), false)
			if err := l.CompleteOperations(t.Context(), c.VoucherID, refused); err != nil {
				t.Fatal(err)
			}
			sent(t, l, id)
		},
	}
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		v := l.sale(t, 100, 1000)
		l.endpoint(t, 1)
		ids := make([]int64, 0, len(ways)+len(late))
		user := int64(0)
		bought := func() (order.Claim, payment.Payment) {
			t.Helper()
			user++
			c := ledgertest.Claims(v, user, 1)[0]
			l.Record(t, []order.Claim{c})
			ids = append(ids, c.OrderID)
			return c, l.Pays(t, c)
		}
		for name, way := range ways {
			c, p := bought()
			l.Receives(t, p)
			way(t, l, c, p.ID)
			l.agrees(t, name, ids)
		}
		for name, way := range late {
			c, p := bought()
			l.Transitioned(t, c, order.Cancel)
			l.ApplyAll(t, v)
			l.Receives(t, p)
			way(t, l, c, p.ID)
			l.agrees(t, name, ids)
			l.ApplyAll(t, v)
		}
		c, p := bought()
		if _, err := l.CallOff(t.Context(), v, ledgertest.Admin, "rain"); err != nil {
			t.Fatal(err)
		}
		l.Transitioned(t, c, order.Cancel)
		l.Receives(t, p)
		l.agrees(t, "paid after the sale was called off", ids)
		sent(t, l, p.ID)
		l.agrees(t, "and sent back", ids)
		if _, _, err := l.Unwind(t.Context(), 1, v, 0, 100); err != nil {
			t.Fatal(err)
		}
		l.agrees(t, "called off", ids)
	})
}

// sentIfDue confirms that nothing is left to send back.
func sentIfDue(t *testing.T, l ledger, id string) {
	t.Helper()
	if _, err := l.NothingLeft(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// agrees fails unless the copy has what the ledger has.
func (l ledger) agrees(t *testing.T, name string, ids []int64) {
	t.Helper()
	orders, payments := l.copied(t)
	wantOrders, wantPayments := l.inLedger(t, ids)
	for id, p := range payments {
		if p.State == payment.Open.String() {
			delete(payments, id)
		}
	}
	if diff := cmp.Diff(wantOrders, orders); diff != "" {
		t.Errorf("%s: orders (-ledger +copy):\n%s", name, diff)
	}
	if diff := cmp.Diff(wantPayments, payments); diff != "" {
		t.Errorf("%s: payments (-ledger +copy):\n%s", name, diff)
	}
}

// The event that all of the money has gone back has the payment as the notice leaves it.
func TestReturnedPaymentIsToBeRefunded(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.sale(t, 5, 1000)
		l.endpoint(t, 1)
		p := l.Pays(t, l.NewOrders(t, v, 1)[0])
		l.Receives(t, p)
		n := payment.Notice{Kind: payment.NoticeReturned, PaymentID: p.ID, Amount: 1000}
		if _, _, err := l.TakeNotice(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		const right = "SELECT COUNT(*) FROM tb_webhook_event WHERE type = 'payment.returned' AND " +
			`body LIKE '%"state":"refunding"%' AND body LIKE '%"refundingTime"%' AND body LIKE '%"refunds":[{%'`
		if l.Number(t, right) != 1 {
			t.Error("the event has another state")
		}
	})
}

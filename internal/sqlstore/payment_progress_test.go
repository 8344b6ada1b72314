package sqlstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// says passes a notice about an open payment on.
func (l ledger) says(
	t *testing.T, kind payment.NoticeKind, p payment.Payment, until time.Time,
) (payment.Payment, order.Order) {
	t.Helper()
	n := payment.Notice{Kind: kind, PaymentID: p.ID, Provider: p.Provider, Until: until, Reason: "no\nmoney"}
	if kind == payment.NoticeProcessing {
		n.Amount = p.Amount
	}
	p, o, err := l.TakeProgress(t.Context(), n)
	if err != nil {
		t.Fatalf("%+v: %v", n, err)
	}
	return p, o
}

// opens begins a payment of an order with a provider.
func (l ledger) opens(t *testing.T, c order.Claim, id, provider string) payment.Payment {
	t.Helper()
	p, err := l.OpenPayment(t.Context(), c.UserID, c.OrderID, id, []string{provider})
	if err != nil {
		t.Fatal(err)
	}
	return p.Payment
}

// While money is under way the order stays unpaid and its deadline moves, once; when the money does not come, another
// payment may begin; when it comes, it pays, whatever was said before.
func TestTakeProgress(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		l.Exec(t, "UPDATE tb_voucher SET processing_within = 7200 WHERE id = ?", v)
		c := l.NewOrders(t, v, 1)[0]
		first := l.Pays(t, c)
		before := l.ReadOrder(t, c.OrderID)
		until := before.PayBefore.Add(time.Hour)
		for i := range 3 { // repeated, also with another time
			p, o := l.says(t, payment.NoticeProcessing, first, until.Add(time.Duration(i)*time.Minute))
			if o.Status != order.Unpaid || !o.Processing || !o.PayBefore.Equal(until) ||
				o.Number() != before.Number()+1 || p.State != payment.Open ||
				p.Said() != "processing" || !p.ProgressUntil.Equal(until) {
				t.Errorf("%d: %+v of %+v", i, p, o)
			}
		}
		if again := l.Pays(t, c); again.ID != first.ID {
			t.Errorf("while money is under way %s begins", again.ID)
		}
		p, o := l.says(t, payment.NoticeFailed, first, time.Time{})
		given := o.PayBefore
		if o.Status != order.Unpaid || o.Processing || !given.Before(until) || p.Failure != "no money" {
			t.Errorf("failed: %+v of %+v", p, o)
		}
		if p, o := l.says(t, payment.NoticeProcessing, first, until); p.Said() != "failed" || o.Processing {
			t.Errorf("a late notice that it is under way: %+v of %+v", p, o)
		}
		second := l.opens(t, c, "pay_second", "")
		if second.ID == first.ID {
			t.Error("a payment that has failed is begun again")
		}
		_, o = l.says(t, payment.NoticeProcessing, second, until.Add(time.Hour))
		if !o.Processing || !o.PayBefore.Equal(given) {
			t.Errorf("the deadline moves twice: %+v", o)
		}
		// The one that has failed pays after all, and the other money goes back.
		p, o = l.Receives(t, first)
		if p.State != payment.Received || o.Status != order.Paid || o.Processing || p.Said() != "" {
			t.Errorf("received: %+v of %+v", p, o)
		}
		if p, o := l.Receives(t, second); p.State != payment.Refunding || o.Status != order.Paid {
			t.Errorf("received twice: %+v of %+v", p, o)
		}
		p, o = l.says(t, payment.NoticeCancelled, first, time.Time{})
		if p.State != payment.Received || o.Status != order.Paid {
			t.Errorf("cancelled after it was received: %+v of %+v", p, o)
		}
		history := l.ReadHistory(t, c.OrderID)
		for _, code := range []string{"PAYMENT_PROCESSING", "PAYMENT_FAILED", "PAID_TWICE"} {
			if !strings.Contains(history, code) {
				t.Errorf("%s is missing in\n%s", code, history)
			}
		}
		l.Conserved(t, v)
	})
}

// Notices about an open payment of an order that is no longer unpaid change no deadline, and another provider's or
// another amount's change nothing.
func TestTakeProgressRefuses(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		c := l.NewOrders(t, v, 1)[0]
		p := l.opens(t, c, "pay_refused", "bank")
		for want, n := range map[error]payment.Notice{
			payment.ErrNotFound: {
				Kind: payment.NoticeProcessing, PaymentID: p.ID, Amount: p.Amount, Provider: "another",
			},
			payment.ErrWrongAmount: {
				Kind: payment.NoticeProcessing, PaymentID: p.ID, Amount: p.Amount - 1, Provider: p.Provider,
			},
		} {
			if _, _, err := l.TakeProgress(t.Context(), n); !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", n, err, want)
			}
		}
		l.Transitioned(t, c, order.Cancel)
		before := l.ReadOrder(t, c.OrderID)
		_, o := l.says(t, payment.NoticeProcessing, p, before.PayBefore.Add(time.Hour))
		if o.Status != order.Cancelled || o.Processing || !o.PayBefore.Equal(before.PayBefore) {
			t.Errorf("%+v", o)
		}
		if p, o := l.Receives(t, p); p.State != payment.Late || o.Status != order.Cancelled {
			t.Errorf("it comes late: %+v of %+v", p, o)
		}
	})
}

// In whatever order the notices of a payment come, and however often, it ends the same.
func TestProgressInAnyOrder(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 100)
		random := rand.New(rand.NewPCG(3, 4))
		kinds := []payment.NoticeKind{
			payment.NoticeProcessing, payment.NoticeProcessing, payment.NoticeFailed, payment.NoticeCancelled,
			payment.NoticePaid, payment.NoticePaid,
		}
		for i, c := range l.NewOrders(t, v, 12) {
			p := l.Pays(t, c)
			before := l.ReadOrder(t, c.OrderID).PayBefore
			random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
			for _, kind := range kinds {
				if kind == payment.NoticePaid {
					l.Receives(t, p)
					continue
				}
				_, o := l.says(t, kind, p, before.Add(time.Hour))
				if o.PayBefore.After(before.Add(24 * time.Hour)) {
					t.Fatalf("%d: its deadline moves without end: %s", i, o.PayBefore)
				}
			}
			o := l.ReadOrder(t, c.OrderID)
			if state := l.ReadPayment(t, p.ID); state != payment.Received || o.Status != order.Paid || o.Processing {
				t.Errorf("%v: %s, %+v", fmt.Sprint(kinds), state, o)
			}
		}
		l.Conserved(t, v)
	})
}

package service

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// answering returns parts with a paid order whose provider answers so to its refund, and to questions about it.
func answering(t *testing.T, answers ...payment.RefundState) *orderParts {
	t.Helper()
	p := newOrderParts(t)
	paidBy(p, 66, "pay_1", 500)
	for _, state := range answers {
		p.provider.answers = append(p.provider.answers, payment.Outcome{State: state, Reason: "the bank says no"})
	}
	return p
}

// part returns the refund of the fake ledger with the id.
func (p *orderParts) part(id string) payment.Refund {
	p.ledger.Mu.Lock()
	defer p.ledger.Mu.Unlock()
	i := slices.IndexFunc(p.ledger.parts, func(r payment.Refund) bool { return r.ID == id })
	if i < 0 {
		return payment.Refund{}
	}
	return p.ledger.parts[i]
}

// Once its provider has taken a refund the order is refunded, and the provider is asked for it once. From then on it is
// asked how the refund stands, until that is final.
func TestPendingRefund(t *testing.T) {
	t.Parallel()
	for last, want := range map[payment.RefundState]payment.RefundState{
		payment.RefundDone: payment.RefundDone, payment.RefundFailed: payment.RefundFailed,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := answering(t, payment.RefundPending, payment.RefundPending, last)
			defer runPayments(t, p)()
			if o, err := p.payments.Refund(t.Context(), 2, 66); err != nil || o.Status != order.Refunded {
				t.Errorf("%s, %v", o.Status, err)
			}
			time.Sleep(pendingPause)
			synctest.Wait()
			p.provider.mu.Lock()
			left := len(p.provider.answers)
			p.provider.mu.Unlock()
			if r := p.part("pay_1"); r.State != payment.RefundPending || left > 1 {
				t.Errorf("%+v, %d answers are left", r, left)
			}
			time.Sleep(3 * pendingPause)
			synctest.Wait()
			if r := p.part("pay_1"); r.State != want || !slices.Equal(p.provider.back, []string{"pay_1"}) {
				t.Errorf("%+v, sent back %v", r, p.provider.back)
			}
		})
	}
}

// While a version without refunds lives no pending refund is stored: the provider is asked again, under the same id.
func TestPendingWaitsForTheUpgrade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := answering(t, slices.Repeat([]payment.RefundState{payment.RefundPending}, 9)...)
		p.ledger.old = true
		defer runPayments(t, p)()
		if _, err := p.payments.Refund(t.Context(), 2, 66); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if r := p.part("pay_1"); r.ID != "" || p.payment("pay_1").State != payment.Refunding ||
			len(p.provider.back) == 0 {
			t.Errorf("%+v of %+v, asked for %v", r, p.payment("pay_1"), p.provider.back)
		}
		p.ledger.Mu.Lock()
		p.ledger.old = false
		p.ledger.Mu.Unlock()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		asked := len(p.provider.back)
		if r := p.part("pay_1"); r.State != payment.RefundPending ||
			len(slices.Compact(slices.Clone(p.provider.back))) != 1 {
			t.Errorf("%+v, asked for %v", r, p.provider.back)
		}
		time.Sleep(pendingPause / 2)
		synctest.Wait()
		if len(p.provider.back) != asked {
			t.Errorf("asked again for what it has taken: %v", p.provider.back)
		}
	})
}

// A part is sent by the job under its own id, once; the provider's final no is its end.
func TestPart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer payment.RefundState
		fails  bool
		want   payment.RefundState
	}{
		"taken":                 {answer: payment.RefundDone, want: payment.RefundDone},
		"on its way":            {answer: payment.RefundPending, want: payment.RefundPending},
		"refused in its answer": {answer: payment.RefundFailed, want: payment.RefundFailed},
		"refused by a final no": {fails: true, want: payment.RefundFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := answering(t, tc.answer, tc.answer)
				if tc.fails {
					p.provider.finalNo["pay_1"] = 2
				}
				p.ledger.upgrades = true // until it is switched on
				p.ledger.Before["answered"] = 1
				defer runPayments(t, p)()
				act := order.PaymentAct{PaymentID: "pay_1", By: voucher.Author{AdminID: 1}, Why: "cold soup"}
				got, err := p.payments.RefundPart(t.Context(), act, 200)
				if err != nil || got.State != payment.Received {
					t.Fatalf("%+v, %v", got, err)
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if r := p.part("pay_1-1"); r.State != tc.want || r.Amount != 200 {
					t.Errorf("%+v", r)
				}
				if p.ledger.rows.Rows[66].Status != order.Paid || p.payment("pay_1").State != payment.Received {
					t.Errorf("the order is %s, the payment %s", p.ledger.rows.Rows[66].Status, p.payment("pay_1").State)
				}
			})
		})
	}
	p := answering(t)
	p.ledger.upgrades, p.ledger.old = true, true
	act := order.PaymentAct{PaymentID: "pay_1", By: voucher.Author{AdminID: 1}, Why: "cold soup"}
	if _, err := p.payments.RefundPart(t.Context(), act, 200); !errors.Is(err, order.ErrUpgrading) {
		t.Errorf("beside a version without refunds: %v", err)
	}
}

// Providers are told to take no money any more for payments of orders that have ended: again after a failure, and not
// for those whose money is there.
func TestCancelAtTheProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		for id, state := range map[string]payment.State{"open": payment.Open, "there": payment.Received} {
			p.ledger.put(payment.Payment{ID: id, OrderID: 66, UserID: 2, Amount: 500, State: state, Provider: "bank"})
		}
		p.ledger.toCancel = []string{"open", "there"}
		p.provider.away = true
		defer runPayments(t, p)()
		time.Sleep(cancelEvery)
		synctest.Wait()
		if !slices.Equal(p.ledger.toCancel, []string{"open"}) {
			t.Errorf("to cancel: %v", p.ledger.toCancel)
		}
		p.provider.mu.Lock()
		p.provider.away = false
		p.provider.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Equal(p.provider.cancelled, []string{"open"}) || len(p.ledger.toCancel) != 0 {
			t.Errorf("cancelled %v, to cancel %v", p.provider.cancelled, p.ledger.toCancel)
		}
	})
}

// A provider is told what the buyer pays for, until when, and how they came.
func TestBeginning(t *testing.T) {
	t.Parallel()
	o := unpaidOrder(500)
	o.Quantity, o.PayBefore = order.QuantityOf(3), ordertest.Begin.Add(time.Hour)
	p := newOrderParts(t, o)
	visit := payment.Visit{Language: "zh", ReturnURL: "https://shop.example/orders/66"}
	if _, _, err := p.payments.Pay(t.Context(), 2, 66, visit); err != nil {
		t.Fatal(err)
	}
	if b := p.provider.told; b.Visit != visit || b.Quantity != 3 || !b.PayBefore.Equal(o.PayBefore) ||
		b.Amount != 500 || b.ID != "pay_1" {
		t.Errorf("told %+v", b)
	}
	// While the money is under way there is nothing to begin.
	if err := p.payments.Confirm(t.Context(), payment.Notice{
		Kind: payment.NoticeProcessing, PaymentID: "pay_1", Amount: 500, Provider: "bank",
	}); err != nil {
		t.Fatal(err)
	}
	again, url, err := p.payments.Pay(t.Context(), 2, 66, visit)
	if err != nil || url != "" || again.ID != "pay_1" || len(p.provider.begun) != 1 {
		t.Errorf("%+v at %q, %v; begun %v", again, url, err, p.provider.begun)
	}
	if err := p.payments.Confirm(t.Context(), payment.Notice{
		Kind: payment.NoticeFailed, PaymentID: "pay_1", Provider: "bank",
	}); err != nil {
		t.Fatal(err)
	}
	if again, url, err := p.payments.Pay(t.Context(), 2, 66, visit); err != nil || url == "" || again.ID == "pay_1" {
		t.Errorf("another attempt: %+v at %q, %v", again, url, err)
	}
}

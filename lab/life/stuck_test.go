package life

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/feature/redemption"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
)

// refusedForGood is the provider's reason for its final no.
const refusedForGood = "the account is closed"

// finalNo sells units to somebody who pays and asks for the money, which the provider refuses for good to send back.
func (m *model) finalNo(t *rapid.T) {
	if m.w.price == 0 {
		t.Skip("nothing is paid")
	}
	m.sell(t)
	if len(m.payments) == 0 {
		t.Skip("nobody has paid")
	}
	p := m.payments[len(m.payments)-1]
	m.w.stores.provider.refuse(p.ID, true)
	if err := m.w.refund(m.owners[p.OrderID], p.OrderID); err != nil {
		if !errors.Is(err, redemption.ErrReserved) {
			m.w.expectedOrState(t, err)
		}
		return
	}
	if rapid.IntRange(0, 1).Draw(t, "fault") == 0 {
		m.injectOne(t, "refused", "send back")
	}
	m.w.work()
}

// stuck has staff retry or close a refund that is stuck, once for its key, or the provider tell that all of the money
// has gone back after all.
func (m *model) stuck(t *rapid.T) {
	var ids []string
	m.w.each(t, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT id FROM tb_payment WHERE voucher_id = ? AND state IN (6, 7) ORDER BY number")
	if len(ids) == 0 {
		t.Skip("nothing is stuck")
	}
	id := rapid.SampledFrom(ids).Draw(t, "payment")
	verb := rapid.SampledFrom([]string{"retry", "retry", "close", "close", "gone back"}).Draw(t, "verb")
	if rapid.IntRange(0, 2).Draw(t, "fault") == 0 {
		m.injectOne(t, "stuck", "apply", "refused", "refunded")
	}
	if verb == "gone back" {
		m.goneBack(t, id)
		return
	}
	m.w.stores.provider.refuse(id, rapid.Bool().Draw(t, "refuses still"))
	m.next++
	by := admin
	by.Key = m.w.key("POST /payment/"+verb, fmt.Sprintf("stuck %d", m.next))
	act := order.PaymentAct{PaymentID: id, By: by, Why: "they called"}
	err := m.w.actOnStuck(verb, act)
	for end := time.Now().Add(quiesceTimeout); unknownOutcome(err) && time.Now().Before(end); {
		m.w.alive().faults.clear()
		m.w.calm = true
		err = m.w.actOnStuck(verb, act)
		m.w.calm = false
	}
	_, again := errors.AsType[*idempotency.RepeatedError](err)
	_, other := errors.AsType[*payment.StateError](err)
	if err != nil && !again && !other {
		m.w.expected(t, err)
	}
}

// goneBack lets the provider send a payment's money back by itself, and tell it.
func (m *model) goneBack(t *rapid.T, id string) {
	for _, p := range m.payments {
		if p.ID == id {
			m.w.stores.provider.sendBack(id)
			m.returned[id] = payment.Notice{
				Kind: payment.NoticeReturned, PaymentID: id, Amount: p.Amount, Provider: p.Provider,
			}
			if err := m.w.confirm(m.returned[id]); err != nil {
				m.w.expected(t, err)
			}
		}
	}
}

// tellReturned repeats the notices of what the provider has sent back by itself.
func (m *model) tellReturned(t *rapid.T) {
	for _, id := range sortedKeys(m.returned) {
		m.w.must(t, m.w.confirm(m.returned[id]))
	}
}

// stuckAddsUp checks a payment that is stuck or closed once all is quiescent: its provider has refused, and has sent
// nothing back.
func (m *model) stuckAddsUp(t *rapid.T, p paymentRow) {
	if n := m.w.refunded()[p.id]; n != 0 {
		t.Fatalf("payment %s is %s, and the provider has sent its money back %d times", p.id, p.state, n)
	}
	if p.state == payment.Stuck && !m.w.stores.provider.refuses(p.id) {
		t.Fatalf("payment %s is stuck, and its provider does not refuse", p.id)
	}
}

// hasStuck reports whether a refund of the order's money is stuck, which staff are shown when its sale was called off.
func (v view) hasStuck(id int64) bool {
	return slices.ContainsFunc(v.payments, func(p paymentRow) bool {
		return p.order == id && p.state == payment.Stuck
	})
}

// news returns what a line of an order's history tells of its payment; "" for nothing.
func news(why string) string {
	return map[reason.Why]string{
		reason.RefundRefused: "payment.stuck", reason.RefundRetried: "payment.retried",
		reason.RefundClosed: "payment.closed", reason.MoneyReturned: "payment.returned",
		reason.PaymentProcessing: "payment.processing", reason.PaymentFailed: "payment.failed",
		reason.PaymentCancelled: "payment.cancelled", reason.PaidLate: "payment.received",
		reason.PaidTwice: "payment.received", reason.BuyerAtLimit: "payment.received",
		reason.SaleOver: "payment.received", reason.NoUnitForLate: "payment.received",
	}[reason.Why(why)]
}

func (w *world) actOnStuck(verb string, act order.PaymentAct) (err error) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	if verb == "retry" {
		_, err = w.alive().payments.RetryRefund(ctx, act)
	} else {
		_, err = w.alive().payments.CloseRefund(ctx, act)
	}
	return err
}

// refuse has the provider refuse a payment's refund for good from now on, or not any more.
func (p *provider) refuse(id string, refuses bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finalNo[id] = refuses
}

func (p *provider) refuses(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.finalNo[id]
}

func (p *provider) sendBack(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refunds[id]++
}

// Refused implements service.StuckLedger.
func (l ledger) Refused(ctx context.Context, id, refund, reason string) (p payment.Payment, err error) {
	err = l.faults.call("refused", func() error {
		p, err = l.Whole.Refused(ctx, id, refund, reason)
		return err
	})
	return p, err
}

// RetryRefund implements service.StuckLedger.
func (l ledger) RetryRefund(ctx context.Context, act order.PaymentAct) (p payment.Payment, o order.Order, err error) {
	err = l.faults.call("stuck", func() error {
		p, o, err = l.Whole.RetryRefund(ctx, act)
		return err
	})
	return p, o, err
}

// CloseRefund implements service.StuckLedger.
func (l ledger) CloseRefund(ctx context.Context, act order.PaymentAct) (p payment.Payment, o order.Order, err error) {
	err = l.faults.call("stuck", func() error {
		p, o, err = l.Whole.CloseRefund(ctx, act)
		return err
	})
	return p, o, err
}

package life

import (
	"context"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// progress lets the provider tell that a payment's money is under way, or will not come, in any order and repeatedly:
// also of one that was paid, whose order has expired, or whose sale was called off.
func (m *model) progress(t *rapid.T) {
	if len(m.payments) == 0 {
		t.Skip("nothing to pay")
	}
	p := rapid.SampledFrom(m.payments).Draw(t, "payment")
	if rapid.IntRange(0, 3).Draw(t, "fault") == 0 {
		m.injectOne(t, "progress")
	}
	n := payment.Notice{
		Kind: rapid.SampledFrom([]payment.NoticeKind{
			payment.NoticeProcessing, payment.NoticeProcessing, payment.NoticeFailed, payment.NoticeCancelled,
		}).Draw(t, "kind"),
		PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider, Until: time.Now().Add(time.Hour),
	}
	ctx, cancel := m.w.withTimeout()
	defer cancel()
	if err := m.w.alive().payments.Confirm(ctx, n); err != nil {
		m.w.expected(t, err)
	}
}

// heldForMoney checks that an unpaid order says that money for it is under way just while that is so.
func (m *model) heldForMoney(t *rapid.T) {
	if n := m.w.count("SELECT COUNT(*) FROM tb_voucher_order o "+
		"WHERE voucher_id = ? AND status = ? AND (processing = 1) <> "+
		"EXISTS (SELECT 1 FROM tb_payment p WHERE p.order_id = o.id AND p.state = ? AND p.progress = ?)",
		m.w.voucher, order.Unpaid, payment.Open, payment.ProgressProcessing); n > 0 {
		t.Fatalf("%d unpaid orders say otherwise of their money than their payments do", n)
	}
}

// TakeProgress implements service.NoticeLedger.
func (l ledger) TakeProgress(ctx context.Context, n payment.Notice) (p payment.Payment, o order.Order, err error) {
	err = l.faults.call("progress", func() error {
		p, o, err = l.Whole.TakeProgress(ctx, n)
		return err
	})
	return p, o, err
}

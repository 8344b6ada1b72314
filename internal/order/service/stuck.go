package service

import (
	"context"
	"fmt"

	"seckill/internal/order"
)

// getsStuck writes a provider's final no into the ledger. If that fails, the provider is asked again later.
func (p *Payments) getsStuck(ctx context.Context, payment order.Payment, no *order.RefusedError) error {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	defer cancel()
	now, err := p.ledger.Refused(call, payment.ID, no.Reason)
	if err != nil {
		return fmt.Errorf("%w: %w", no, err)
	}
	if now.State == order.PaymentStuck {
		p.log.WarnContext(ctx, "a refund is stuck: the provider refuses it for good", "payment", payment.ID, "order",
			payment.OrderID, "reason", now.Refusal)
	}
	return nil
}

// RetryRefund lets Run ask the provider once more to send a stuck payment's money back, and returns the payment, which
// is refunding. It may return ErrNoPayment, *order.PaymentStateError, *order.NotNowError while the payment is disputed,
// and ErrUnavailable; for the author's key, *idempotency.RepeatedError and idempotency.ErrReused.
func (p *Payments) RetryRefund(ctx context.Context, act order.PaymentAct) (order.Payment, error) {
	payment, _, err := p.ledger.RetryRefund(ctx, act)
	if err != nil {
		return order.Payment{}, order.OrUnavailable(err)
	}
	p.Wake()
	return payment, nil
}

// CloseRefund ends a stuck payment's refund, and returns the payment, which is closed: the provider is not asked again,
// and keeps the money. An order that was paid with it is refunded. Errors are RetryRefund's.
func (p *Payments) CloseRefund(ctx context.Context, act order.PaymentAct) (order.Payment, error) {
	payment, o, err := p.ledger.CloseRefund(ctx, act)
	if err != nil {
		return order.Payment{}, order.OrUnavailable(err)
	}
	p.parts.Outbox.RequestFlush(o.VoucherID)
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	return payment, nil
}

// count counts the payments that need staff, for metrics.
func (p *Payments) count(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	defer cancel()
	n, err := p.ledger.NeedStaff(call)
	p.observer.PaymentsNeedStaff(n, err)
	if err != nil {
		p.logFailure(ctx, "counting payments that need staff failed; retrying", err)
	}
}

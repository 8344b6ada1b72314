package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/order"
	"seckill/internal/order/payment"
)

const (
	refundEvery   = time.Second      // how often it looks for money to give back
	refundBatch   = 100              // most payments read in one go, besides those that have failed
	refundWorkers = 8                // refunds at a time
	refundsKnown  = 10_000           // most failed refunds that a read skips to find others behind them
	refundPause   = time.Second      // before a failed refund is retried; doubled each time
	refundPauses  = 5 * time.Minute  // longest pause
	refundTimeout = 10 * time.Second // most time of one transaction
	countEvery    = 10 * time.Second // how often it counts what needs staff
	pendingEvery  = 10 * time.Second // how often it looks for refunds that are on their way
	pendingPause  = time.Minute      // before it looks at one; doubled each time
	pendingPauses = time.Hour        // longest pause
	cancelEvery   = 2 * time.Second  // how often it looks for payments to cancel
)

// Run gives money back, looks at refunds that are on their way, has payments of ended orders cancelled at their
// providers, and sends undecided late payments to Redis again, until ctx ends. It retries failures, so it returns no
// other error. Other instances may do the same at the same time: the provider knows the ids, so money goes back once.
//
// Its loops do not wait for each other: a provider may be slow, and late payments do not need it.
func (p *Payments) Run(ctx context.Context) error {
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { _ = periodic.Every(ctx, reviveEvery, p.reviveLate) })
	others.Go(func() { _ = periodic.Every(ctx, countEvery, p.count) })
	others.Go(func() { _ = periodic.Every(ctx, pendingEvery, p.readPending) })
	others.Go(func() { _ = periodic.Every(ctx, cancelEvery, p.cancelAll) })
	return periodic.EveryOr(ctx, refundEvery, p.wakeups, p.refundAll)
}

// dueRefund is a refund to be sent: of all that is left of a payment, or one of its parts.
type dueRefund struct{ payment, part string }

// id returns what the provider knows the refund by, more or less: its back-off goes by it.
func (d dueRefund) id() string { return cmp.Or(d.part, d.payment) }

// refundAll tries every refund that is due. It skips those that failed recently and reads as many others behind them,
// so that a payment that the provider refuses holds up no other.
func (p *Payments) refundAll(ctx context.Context) {
	due, err := p.due(ctx)
	if err != nil {
		p.logFailure(ctx, "looking for refunds failed; retrying", err)
		return
	}
	tryEach(ctx, &p.refunds, due, dueRefund.id, func(d dueRefund) {
		if p.refund(ctx, d) != nil {
			p.refunds.failed(d.id(), refundPause, refundPauses)
			return
		}
		p.refunds.done(d.id())
	})
}

func (p *Payments) due(ctx context.Context) ([]dueRefund, error) {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	defer cancel()
	n := refundBatch + min(p.refunds.len(), refundsKnown)
	payments, err := p.ledger.Refunding(call, n)
	if err != nil {
		return nil, err
	}
	parts, err := p.ledger.RefundsIn(call, payment.RefundAsked, payment.OriginPart, n)
	due := make([]dueRefund, 0, len(payments)+len(parts))
	for _, of := range payments {
		due = append(due, dueRefund{payment: of.ID})
	}
	for _, r := range parts {
		due = append(due, dueRefund{r.PaymentID, r.ID})
	}
	return due, err
}

// refund sends one refund, or notes that its provider will never do so. If providers are slow, it was listed long ago:
// refund does nothing if meanwhile another instance has ended it, staff have closed it, or the buyer disputes the
// payment.
func (p *Payments) refund(ctx context.Context, d dueRefund) error {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	attempt, r, due, err := p.ledger.SendRefund(call, d.payment, d.part) // as they are now
	cancel()
	if err == nil && !due {
		return nil
	}
	if err == nil {
		err = p.sendBack(ctx, attempt, r)
	}
	p.observer.PaymentRefunded(err)
	if refused, is := errors.AsType[*payment.RefusedError](err); is {
		err = p.getsStuck(ctx, attempt, r, refused)
	}
	if err != nil {
		p.logFailure(ctx, "giving money back failed; retrying", fmt.Errorf("payment %s of order %d: %w",
			d.payment, attempt.OrderID, err))
	}
	return err
}

// sendBack asks the payment's provider to send the money back, and records that. If nothing is left to send, it asks no
// provider.
func (p *Payments) sendBack(ctx context.Context, attempt payment.Payment, r payment.Refund) error {
	outcome := payment.Outcome{State: payment.RefundDone}
	if r.Amount > 0 {
		provider, err := p.providers.of(attempt)
		if err != nil {
			return err
		}
		call, cancel := context.WithTimeout(ctx, providerTimeout)
		defer cancel()
		if outcome, err = provider.Refund(call, attempt, r); err != nil {
			return err
		}
	}
	switch outcome.State {
	case payment.RefundFailed:
		return &payment.RefusedError{Reason: outcome.Reason}
	case payment.RefundPending: // versions without refunds would ask for it once more
		if err := p.switchOn(ctx, switchWait); err != nil {
			return err
		}
	case payment.RefundAsked, payment.RefundDone:
	}
	return p.taken(ctx, attempt, r, outcome)
}

// taken records that the provider has taken a refund.
func (p *Payments) taken(
	ctx context.Context, attempt payment.Payment, r payment.Refund, outcome payment.Outcome,
) (err error) {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	defer cancel()
	var o order.Order
	switch {
	case r.Amount == 0:
		o, err = p.ledger.NothingLeft(call, attempt.ID)
	case outcome.State == payment.RefundDone && r.Origin != payment.OriginPart:
		o, err = p.ledger.Refunded(call, attempt.ID, r.ID, outcome.Reference)
	default:
		_, o, err = p.ledger.RefundAnswered(call, attempt.ID, r.ID, outcome)
	}
	if err != nil {
		return err
	}
	p.parts.Outbox.RequestFlush(attempt.VoucherID)
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	return nil
}

// readPending asks providers how refunds stand that are on their way: a notice of it may have been lost. It asks for
// each after a minute, then after twice as long each time, up to an hour.
func (p *Payments) readPending(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	pending, err := p.ledger.RefundsIn(call, payment.RefundPending, 0, refundBatch+min(p.pending.len(), refundsKnown))
	cancel()
	if err != nil {
		p.logFailure(ctx, "looking for refunds on their way failed; retrying", err)
		return
	}
	tryEach(ctx, &p.pending, pending, func(r payment.Refund) string { return r.ID }, func(r payment.Refund) {
		p.pending.failed(r.ID, pendingPause, pendingPauses)
		if err := p.readOne(ctx, r); err != nil {
			p.logFailure(ctx, "reading a refund that is on its way failed; retrying",
				fmt.Errorf("refund %s: %w", r.ID, err))
		}
	})
}

// readOne asks a provider how one refund stands.
func (p *Payments) readOne(ctx context.Context, r payment.Refund) error {
	call, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	attempt, err := p.ledger.Payment(call, r.PaymentID)
	if err != nil {
		return err
	}
	provider, err := p.providers.of(attempt)
	if err != nil {
		return err
	}
	outcome, err := provider.ReadRefund(call, attempt, r)
	if err != nil || outcome.State <= r.State {
		return err
	}
	_, o, err := p.ledger.RefundAnswered(call, r.PaymentID, r.ID, outcome)
	if err == nil {
		p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	}
	return err
}

// cancelAll tells providers to take no money any more for payments whose order has ended, or was paid otherwise.
func (p *Payments) cancelAll(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	payments, err := p.ledger.ToCancel(call, refundBatch+min(p.cancels.len(), refundsKnown))
	cancel()
	if err != nil {
		p.logFailure(ctx, "looking for payments to cancel failed; retrying", err)
		return
	}
	tryEach(ctx, &p.cancels, payments, func(of payment.Payment) string { return of.ID }, func(of payment.Payment) {
		if err := p.cancelOne(ctx, of); err != nil {
			p.cancels.failed(of.ID, refundPause, refundPauses)
			p.logFailure(ctx, "cancelling a payment at its provider failed; retrying",
				fmt.Errorf("payment %s: %w", of.ID, err))
		}
	})
}

// cancelOne tells a provider to take no money any more for a payment, unless it has it already.
func (p *Payments) cancelOne(ctx context.Context, of payment.Payment) error {
	call, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	if of.State == payment.Open && !of.Progress.Ended() {
		provider, err := p.providers.of(of)
		if err != nil {
			return err
		}
		if err := provider.Cancel(call, of); err != nil {
			return err
		}
	}
	return p.ledger.Cancelled(call, of.ID)
}

func (p *Payments) logFailure(ctx context.Context, what string, err error) {
	if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		p.log.WarnContext(ctx, what, "error", err)
	}
}

// getsStuck writes a provider's final no into the ledger. If that fails, the provider is asked again later.
func (p *Payments) getsStuck(
	ctx context.Context, attempt payment.Payment, r payment.Refund, no *payment.RefusedError,
) error {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	defer cancel()
	if r.Origin == payment.OriginPart {
		_, _, err := p.ledger.RefundAnswered(call, attempt.ID, r.ID,
			payment.Outcome{State: payment.RefundFailed, Reason: no.Reason})
		p.log.WarnContext(ctx, "a refund of a part has failed: the provider refuses it for good", "payment", attempt.ID,
			"order", attempt.OrderID, "refund", r.ID)
		return err
	}
	now, err := p.ledger.Refused(call, attempt.ID, r.ID, no.Reason)
	if err != nil {
		return fmt.Errorf("%w: %w", no, err)
	}
	if now.State == payment.Stuck {
		p.log.WarnContext(ctx, "a refund is stuck: the provider refuses it for good", "payment", attempt.ID, "order",
			attempt.OrderID, "reason", now.Refusal)
	}
	return nil
}

// RefundPart sends a part of a received payment's money back, or all that is left of it with its order, and returns the
// payment. Errors: ErrNoPayment, *payment.NotReceivedError, *payment.LeftError, *order.StateError, *order.NotNowError,
// ErrUpgrading, ErrUnavailable; for the author's key, *idempotency.RepeatedError, idempotency.ErrReused.
func (p *Payments) RefundPart(ctx context.Context, act order.PaymentAct, cents int64) (payment.Payment, error) {
	attempt, o, err := p.ledger.RefundPart(ctx, act, cents)
	if errors.Is(err, order.ErrUpgrading) {
		if err := p.switchOn(ctx, staffWait); err != nil {
			return payment.Payment{}, order.OrUnavailable(err)
		}
		attempt, o, err = p.ledger.RefundPart(ctx, act, cents)
	}
	if err != nil {
		return payment.Payment{}, order.OrUnavailable(err)
	}
	p.Wake()
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	return attempt, nil
}

// RetryRefund lets Run ask the provider once more to send a stuck payment's money back, and returns the payment, which
// is refunding. Errors: ErrNoPayment, *payment.StateError, *order.NotNowError while the payment is disputed,
// ErrUnavailable; for the author's key, *idempotency.RepeatedError, idempotency.ErrReused.
func (p *Payments) RetryRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, error) {
	attempt, _, err := p.ledger.RetryRefund(ctx, act)
	if err != nil {
		return payment.Payment{}, order.OrUnavailable(err)
	}
	p.Wake()
	return attempt, nil
}

// CloseRefund ends a stuck payment's refund, and returns the payment, which is closed: the provider is not asked again,
// and keeps the money. An order that was paid with it is refunded. Errors: those of RetryRefund.
func (p *Payments) CloseRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, error) {
	attempt, o, err := p.ledger.CloseRefund(ctx, act)
	if err != nil {
		return payment.Payment{}, order.OrUnavailable(err)
	}
	p.parts.Outbox.RequestFlush(o.VoucherID)
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	return attempt, nil
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

const (
	reviveEvery = time.Second // how often it looks for late payments that are undecided
	reviveBatch = 100         // most payments whose Revival a rebuild voided, in one go
)

// reviveLate adds a new Revival for late payments whose Revival was voided, and requests that Redis applies it.
func (p *Payments) reviveLate(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	vouchers, err := p.ledger.ReviveLate(call, reviveBatch)
	cancel()
	if err != nil {
		p.logFailure(ctx, "looking for late payments failed; retrying", err)
		return
	}
	for _, id := range vouchers {
		p.parts.Outbox.RequestFlush(id)
	}
}

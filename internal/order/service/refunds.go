package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
)

// refundBackOff is the back-off of a failed refund.
type refundBackOff struct {
	pause time.Duration
	until time.Time
}

// Run gives money back, and sends undecided late payments to Redis again, once a second and when woken, until ctx ends.
// It retries failures, so it returns no other error. Other instances may do the same at the same time: the provider
// knows the payment's id, so its money goes back once.
//
// Its loops do not wait for each other: a provider may be slow, and late payments do not need it.
func (p *Payments) Run(ctx context.Context) error {
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { _ = periodic.Every(ctx, reviveEvery, p.reviveLate) })
	others.Go(func() { _ = periodic.Every(ctx, countEvery, p.count) })
	return periodic.EveryOr(ctx, refundEvery, p.wakeups, p.refundAll)
}

// refundAll tries every refund that is due. It skips those that failed recently and reads as many others behind them,
// so that a payment that the provider refuses holds up no other.
func (p *Payments) refundAll(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	n := refundBatch + min(len(p.backOffs), refundsKnown)
	payments, err := p.ledger.Refunding(call, n)
	cancel()
	if err != nil {
		p.logFailure(ctx, "looking for refunds failed; retrying", err)
		return
	}
	failed := make(map[string]*refundBackOff, len(p.backOffs))
	var mu sync.Mutex
	var workers errgroup.Group
	workers.SetLimit(refundWorkers)
	for _, payment := range payments {
		known := p.backOffs[payment.ID]
		if known != nil && time.Now().Before(known.until) {
			mu.Lock()
			failed[payment.ID] = known
			mu.Unlock()
			continue
		}
		workers.Go(func() error {
			if ctx.Err() == nil && p.refund(ctx, payment) != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[payment.ID] = known.longer()
			}
			return nil
		})
	}
	_ = workers.Wait() // none returns an error
	p.backOffs = failed
}

// longer returns the back-off after one more failure.
func (b *refundBackOff) longer() *refundBackOff {
	pause := refundPause
	if b != nil {
		pause = min(2*b.pause, refundPauses)
	}
	return &refundBackOff{pause: pause, until: time.Now().Add(pause)}
}

// refund gives one payment's money back, or notes that its provider will never do so. If providers are slow, the
// payment was listed long ago: refund does nothing if meanwhile another instance has ended the refund, staff have
// closed it, or the buyer disputes the payment.
func (p *Payments) refund(ctx context.Context, listed payment.Payment) error {
	attempt, err := p.asItIs(ctx, listed)
	if err == nil && !attempt.Due() {
		return nil
	}
	if err == nil {
		err = p.sendBack(ctx, attempt)
	}
	p.observer.PaymentRefunded(err)
	if refused, is := errors.AsType[*payment.RefusedError](err); is {
		err = p.getsStuck(ctx, attempt, refused)
	}
	if err != nil {
		p.logFailure(ctx, "giving money back failed; retrying", fmt.Errorf("payment %s of order %d: %w",
			attempt.ID, attempt.OrderID, err))
	}
	return err
}

// asItIs reads the payment again.
func (p *Payments) asItIs(ctx context.Context, payment payment.Payment) (payment.Payment, error) {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	defer cancel()
	now, err := p.ledger.Payment(call, payment.ID)
	if err != nil {
		return payment, err
	}
	return now, nil
}

// sendBack asks the payment's provider to send the money back, and records that. If nothing is left to send, it asks no
// provider.
func (p *Payments) sendBack(ctx context.Context, payment payment.Payment) error {
	if payment.Rest() > 0 {
		provider, err := p.providers.of(payment)
		if err != nil {
			return err
		}
		call, cancel := context.WithTimeout(ctx, providerTimeout)
		defer cancel()
		if err := provider.Refund(call, payment); err != nil {
			return err
		}
	}
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	defer cancel()
	o, err := p.ledger.Refunded(call, payment.ID)
	if err != nil {
		return err
	}
	p.parts.Outbox.RequestFlush(payment.VoucherID)
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	return nil
}

func (p *Payments) logFailure(ctx context.Context, what string, err error) {
	if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		p.log.WarnContext(ctx, what, "error", err)
	}
}

// getsStuck writes a provider's final no into the ledger. If that fails, the provider is asked again later.
func (p *Payments) getsStuck(ctx context.Context, attempt payment.Payment, no *payment.RefusedError) error {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	defer cancel()
	now, err := p.ledger.Refused(call, attempt.ID, no.Reason)
	if err != nil {
		return fmt.Errorf("%w: %w", no, err)
	}
	if now.State == payment.Stuck {
		p.log.WarnContext(ctx, "a refund is stuck: the provider refuses it for good", "payment", attempt.ID, "order",
			attempt.OrderID, "reason", now.Refusal)
	}
	return nil
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

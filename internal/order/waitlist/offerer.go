package waitlist

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/order"
)

const (
	offerEvery   = time.Second      // how often offers are looked at
	offerTimeout = 30 * time.Second // one look at most
	offererLock  = "offerer"
)

// Offerer ends offers whose deadline has passed and passes their units on. Every instance runs one, and one of them at a time
// works, under a lock whose token the ledger checks. Until it comes to an offer, accepting goes by the deadline.
type Offerer struct {
	ledger   OfferLedger
	locker   order.FencedLocker
	outbox   order.FlushRequester
	observer Observer
	log      *slog.Logger
}

// NewOfferer returns an offerer; Run starts it.
func NewOfferer(ledger OfferLedger, locker order.FencedLocker, outbox order.FlushRequester, observer Observer, log *slog.Logger) *Offerer {
	return &Offerer{ledger: ledger, locker: locker, outbox: outbox, observer: observer, log: log}
}

// Run sees to offers, or waits for its turn, until ctx ends. It never returns an error: what fails is retried, by the instance
// that gets the lock then.
func (o *Offerer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := o.locker.TryDoFenced(ctx, offererLock, o.turn)
		if err != nil && ctx.Err() == nil && !errors.Is(err, order.ErrBusy) {
			o.log.WarnContext(ctx, "seeing to offers of waiting lists failed; retrying", "error", err)
		}
		order.Sleep(ctx, offerEvery)
	}
	return nil
}

// turn sees to offers until ctx ends, which it also does when the lock is lost, or until something fails.
func (o *Offerer) turn(ctx context.Context, token int64) error {
	for ctx.Err() == nil {
		if err := o.look(ctx, token); err != nil {
			return err
		}
		order.Sleep(ctx, offerEvery)
	}
	return nil
}

// look sees to what is due now, a transaction after the other.
func (o *Offerer) look(ctx context.Context, token int64) error {
	ctx, cancel := context.WithTimeout(ctx, offerTimeout)
	defer cancel()
	for {
		start := time.Now()
		pass, err := o.ledger.SeeToOffers(ctx, token)
		o.observer.OffersSeenTo(pass, time.Since(start), err)
		for _, id := range pass.Vouchers {
			o.outbox.RequestFlush(id)
		}
		if err != nil {
			return err
		}
		if pass.Missed+pass.Asked+pass.Over == 0 {
			return nil
		}
	}
}

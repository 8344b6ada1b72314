package waitlist

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/job"
)

// offerEvery is how often offers are looked at when nothing was due.
const offerEvery = time.Second

// Offerer ends offers whose deadline has passed and passes their units on. One instance at a time does (package job).
// Until it comes to an offer, accepting goes by the deadline.
type Offerer struct {
	ledger   OfferLedger
	locker   order.FencedLocker
	outbox   order.FlushRequester
	observer Observer
	log      *slog.Logger
}

// NewOfferer returns an offerer; Run starts it.
func NewOfferer(
	ledger OfferLedger, locker order.FencedLocker, outbox order.FlushRequester, observer Observer, log *slog.Logger,
) *Offerer {
	return &Offerer{ledger: ledger, locker: locker, outbox: outbox, observer: observer, log: log}
}

// Run sees to offers, or waits for its turn, until ctx ends. It always returns nil.
func (o *Offerer) Run(ctx context.Context) error {
	return job.Job{
		Name: order.OffererJob, Does: "seeing to offers of waiting lists", Every: offerEvery, Size: 1, Batch: o.batch,
	}.Run(ctx, o.locker, o.log)
}

// batch sees to some of what is due, in one transaction, and returns how many offers and places that were.
func (o *Offerer) batch(ctx context.Context, token int64) (int, error) {
	start := time.Now()
	pass, err := o.ledger.SeeToOffers(ctx, token)
	o.observer.OffersSeenTo(pass, time.Since(start), err)
	for _, id := range pass.Vouchers {
		o.outbox.RequestFlush(id)
	}
	return int(pass.Missed + pass.Asked + pass.Over), err
}

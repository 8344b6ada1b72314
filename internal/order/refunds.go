package order

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// What the Cashier does in the background.

const (
	reviveEvery   = time.Second      // how often late payments that a rebuild came across are looked for
	refundEvery   = time.Second      // how often money that is to go back is looked for
	refundBatch   = 100              // payments looked at in one go, besides those that have failed
	refundWorkers = 8                // of them at a time
	refundsKnown  = 10_000           // failed ones at most that others are looked for behind
	refundPause   = time.Second      // before a refund that failed is tried again; doubled each time
	refundPauses  = 5 * time.Minute  // at most
	refundTime    = 10 * time.Second // one transaction at most
)

// patience is what is known of a refund that has failed.
type patience struct {
	pause time.Duration
	until time.Time
}

// Run gives back money that is to go back, and sees to late payments that a rebuild came across, once a second and
// whenever there is news, until ctx ends. It never returns an error: what fails is tried again. Other instances may do
// the same; the provider is told a payment's id, so that its money goes back once.
//
// The two do not wait for each other: a provider that does not answer takes its time, and a late payment has nothing to
// ask of it.
func (c *Cashier) Run(ctx context.Context) error {
	var reviving sync.WaitGroup
	defer reviving.Wait()
	reviving.Go(func() {
		for ctx.Err() == nil {
			rest(ctx, reviveEvery)
			c.reviveLate(ctx)
		}
	})
	ticker := time.NewTicker(refundEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.woken:
		case <-ticker.C:
		}
		c.refundAll(ctx)
	}
}

// reviveLate asks Redis once more about late payments whose operation was voided.
func (c *Cashier) reviveLate(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, refundTime)
	vouchers, err := c.payments.ReviveLate(call, refundBatch)
	cancel()
	if err != nil {
		c.complain(ctx, "looking for late payments failed; trying again", err)
		return
	}
	for _, id := range vouchers {
		c.desk.Outbox.Notify(id)
	}
}

// refundAll tries every refund that is due. Those that failed lately are passed over, and as many others are looked at
// behind them: a payment that the provider refuses holds up nobody else.
func (c *Cashier) refundAll(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, refundTime)
	n := refundBatch + min(len(c.patient), refundsKnown)
	payments, err := c.payments.Refunding(call, n)
	cancel()
	if err != nil {
		c.complain(ctx, "looking for money to give back failed; trying again", err)
		return
	}
	failed := make(map[string]*patience, len(c.patient))
	var mu sync.Mutex
	var workers errgroup.Group
	workers.SetLimit(refundWorkers)
	for _, p := range payments {
		known := c.patient[p.ID]
		if known != nil && time.Now().Before(known.until) {
			mu.Lock()
			failed[p.ID] = known
			mu.Unlock()
			continue
		}
		workers.Go(func() error {
			if ctx.Err() == nil && c.refund(ctx, p) != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[p.ID] = known.longer()
			}
			return nil
		})
	}
	_ = workers.Wait() // none returns an error
	c.patient = failed
}

// longer returns the patience after one more failure.
func (p *patience) longer() *patience {
	pause := refundPause
	if p != nil {
		pause = min(2*p.pause, refundPauses)
	}
	return &patience{pause: pause, until: time.Now().Add(pause)}
}

// refund gives one payment's money back.
func (c *Cashier) refund(ctx context.Context, p Payment) error {
	err := c.sendBack(ctx, p)
	c.observer.Repaid(err)
	if err != nil {
		c.complain(ctx, "giving money back failed; trying again", fmt.Errorf("payment %s of order %d: %w", p.ID, p.OrderID, err))
	}
	return err
}

// sendBack has the provider send the money back, and records that it has. What cost nothing needs no provider.
func (c *Cashier) sendBack(ctx context.Context, p Payment) error {
	if p.Amount > 0 {
		if c.provider == nil {
			return ErrNoProvider
		}
		call, cancel := context.WithTimeout(ctx, providerTime)
		defer cancel()
		if err := c.provider.Refund(call, p); err != nil {
			return err
		}
	}
	call, cancel := context.WithTimeout(ctx, refundTime)
	defer cancel()
	o, err := c.payments.Refunded(call, p.ID)
	if err != nil {
		return err
	}
	c.desk.Outbox.Notify(p.VoucherID)
	c.desk.Room.Told(map[int64]Status{o.ID: o.Status})
	return nil
}

func (c *Cashier) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		c.log.WarnContext(ctx, what, "error", err)
	}
}

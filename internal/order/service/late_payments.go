package service

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/order"
)

const (
	reviveEvery    = time.Second // how often late payments that are left are looked for
	reviveBatch    = 100         // of those that a rebuild came across, in one go
	lackingEach    = 20          // of those that lack units, for each share of a split sale
	lackingBatch   = 400         // for all of them
	lackingWorkers = 16          // shares at a time
	gatherTime     = time.Second // for how long units are gathered for one of them
)

// seeToLate sees to late payments whose operation a rebuild has voided, and to those for which a share of a split sale had too few
// units, once a second and whenever one has come.
func (p *Payments) seeToLate(ctx context.Context) {
	ticker := time.NewTicker(reviveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.late:
		case <-ticker.C:
		}
		p.reviveLate(ctx)
		p.supplyLate(ctx)
	}
}

// reviveLate asks Redis once more about late payments whose operation was voided.
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

// supplyLate has units gathered in the shares of split sales that had too few for late payments. Shares do not wait for each other, and
// of each only some payments are seen to, so that one that stands still keeps no other waiting for long.
func (p *Payments) supplyLate(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, refundTimeout)
	lacking, err := p.ledger.Lacking(call, lackingEach, lackingBatch)
	cancel()
	if err != nil {
		p.logFailure(ctx, "looking for late payments that lack units failed; retrying", err)
		return
	}
	shares := make(map[order.SaleID][]order.LackingPayment)
	for _, l := range lacking {
		shares[l.Sale] = append(shares[l.Sale], l)
	}
	var workers errgroup.Group
	workers.SetLimit(lackingWorkers)
	for _, ofShare := range shares {
		workers.Go(func() error {
			for _, l := range ofShare {
				if err := p.supply(ctx, l); err != nil {
					p.logFailure(ctx, "finding units for a late payment failed; retrying", fmt.Errorf("payment %s: %w", l.PaymentID, err))
				}
			}
			return nil
		})
	}
	_ = workers.Wait() // none returns an error
}

// supply gathers the units of one late payment and has Redis asked for them once more, or sends the money back if the whole sale has
// too few. The process may die at any moment: what was moved is on sale, and the payment is looked for again.
func (p *Payments) supply(ctx context.Context, l order.LackingPayment) error {
	gathering, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	left, err := p.parts.Outbox.GatherIn(gathering, l.Sale, l.Units)
	switch {
	case err != nil && gathering.Err() != nil:
		return nil // units are on their way, or wait until they can be sold: it is looked for again
	case err != nil:
		return err
	}
	call, cancelCall := context.WithTimeout(ctx, refundTimeout)
	defer cancelCall()
	if left < l.Units {
		if err := p.ledger.RefuseLacking(call, l); err != nil {
			return err
		}
		p.wake()
		return nil
	}
	if err := p.ledger.ReviveLacking(call, l); err != nil {
		return err
	}
	p.parts.Outbox.RequestFlush(l.Sale.VoucherID)
	return nil
}

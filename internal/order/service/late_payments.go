package service

import (
	"context"
	"time"
)

const (
	reviveEvery = time.Second // how often late payments that are left are looked for
	reviveBatch = 100         // of those that a rebuild came across, in one go
)

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

package service

import (
	"context"
	"time"
)

const (
	reviveEvery = time.Second // how often it looks for late payments that are undecided
	reviveBatch = 100         // most payments whose Revival a rebuild voided, in one go
)

// reviveLate sends late payments to Redis again whose operation was voided.
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

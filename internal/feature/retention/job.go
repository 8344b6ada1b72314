package retention

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/job"
)

const (
	purgerJob = "purger"

	purgeEvery = 10 * time.Minute // how often old sales are looked for
	purgeTurn  = 15 * time.Second // how long one batch of the job purges: less than a job's batch may take
	listed     = 100              // candidates that a command reads at once
)

// purger is the job that purges what is older than SECKILL_KEEP and SECKILL_AUDIT_KEEP, on one instance at a time.
type purger struct {
	Purger

	keep     time.Duration                   // 0: for ever
	trail    time.Duration                   // of entries of the audit trail; 0: for ever
	midnight func(at time.Time) time.Time    // the beginning of a day
	now      func(context.Context) time.Time // the ledger's clock; zero if it cannot be read
	switchOn func(context.Context) error
	forget   func(ctx context.Context, token int64, before time.Time, n int) (int, error)
	log      *slog.Logger

	on    bool  // switchOn has returned nil
	after int64 // the last voucher that was looked at
}

// Run purges until ctx ends.
func (p *purger) Run(ctx context.Context, locker order.FencedLocker) error {
	return job.Job{
		Name: purgerJob, Does: "purging what is old", Every: purgeEvery, Size: 1, Batch: p.batch,
	}.Run(ctx, locker, p.log)
}

// batch purges for a while. It returns 0 once nothing is left.
func (p *purger) batch(ctx context.Context, token int64) (int, error) {
	now := p.now(ctx)
	if now.IsZero() {
		return 0, order.ErrUnavailable
	}
	if p.trail > 0 {
		n, err := p.forget(ctx, token, now.Add(-p.trail), purgeBatch)
		if err != nil || n == purgeBatch {
			return 1, err
		}
	}
	if p.keep == 0 {
		return 0, nil
	}
	found, err := p.Ledger.Candidates(ctx, p.midnight(now.Add(-p.keep)), p.after, 1)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		p.after = 0
		return 0, nil
	}
	if !p.on {
		if err := p.switchOn(ctx); err != nil {
			return 0, err
		}
		p.on = true
	}
	return 1, p.one(ctx, token, found[0])
}

// one purges a voucher for a while.
func (p *purger) one(ctx context.Context, token int64, c Candidate) error {
	end := time.Now().Add(purgeTurn)
	interrupted := false
	done, err := p.Purge(ctx, c, token, Trail{By: purgerJob, Why: "SECKILL_KEEP"}, func() bool {
		interrupted = time.Now().After(end)
		return !interrupted
	})
	if err != nil {
		return err
	}
	if interrupted {
		return nil // the next batch goes on
	}
	p.after = c.VoucherID
	switch {
	case done.Refused:
		p.log.InfoContext(ctx, "a voucher is not purged yet", "voucher", c.VoucherID, "owed", done.Owed.String())
	case done.Orders > 0 || done.Done:
		p.log.InfoContext(ctx, "a voucher was purged", "voucher", c.VoucherID, "orders", done.Orders,
			"left", done.Owed.String())
	}
	return nil
}

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
	turn     time.Duration                   // how long one batch purges
	trail    time.Duration                   // of entries of the audit trail; 0: for ever
	midnight func(at time.Time) time.Time    // the beginning of a day
	now      func(context.Context) time.Time // the ledger's clock; zero if it cannot be read
	switchOn func(context.Context) error
	forget   func(ctx context.Context, token int64, before time.Time, n int) (int, error)
	log      *slog.Logger

	on    bool      // switchOn has returned nil
	after int64     // the last voucher that is finished
	of    int64     // the voucher that so is of
	so    Purged    // what was done of it in earlier batches
	round time.Time // before which all vouchers were looked at: the next round begins on another day
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
	before := p.midnight(now.Add(-p.keep))
	if before.Equal(p.round) {
		return 0, nil
	}
	found, err := p.Ledger.Candidates(ctx, before, p.after, 1)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		p.after, p.round = 0, before
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
	if p.of != c.VoucherID {
		p.of, p.so = c.VoucherID, Purged{}
	}
	end := time.Now().Add(p.turn)
	interrupted := false
	done, err := p.Purge(ctx, c, token, Trail{By: purgerJob, Why: "SECKILL_KEEP"}, p.so, func() bool {
		interrupted = time.Now().After(end)
		return !interrupted
	})
	switch {
	case err != nil && p.endsAll(ctx, err):
		p.so = Purged{} // the next batch begins again
		return err
	case err == nil && interrupted:
		p.so = done // the next batch goes on
		return nil
	}
	p.after, p.so = c.VoucherID, Purged{}
	switch {
	case err != nil:
		p.log.WarnContext(ctx, "purging a voucher failed; it is tried again tomorrow", "voucher", c.VoucherID,
			"error", err)
	case done.Refused:
		p.log.InfoContext(ctx, "a voucher is not purged yet", "voucher", c.VoucherID, "owed", done.Owed.String())
	case done.Orders > 0 || done.Done:
		p.log.InfoContext(ctx, "a voucher was purged", "voucher", c.VoucherID, "orders", done.Orders,
			"left", done.Owed.String())
	}
	return nil
}

package rehearsal

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/feature"
	"seckill/internal/order"
	"seckill/internal/order/job"
)

const (
	emptierJob = "emptier"

	emptyEvery = 10 * time.Second // how often it looks for ended rehearsals
	emptyBatch = 500              // orders in one transaction at most
	emptyRate  = 5000             // orders a second at most, to leave the ledger room
)

// emptier is the job that removes the rows of rehearsals that have ended, on one instance at a time (package job).
func emptier(
	ledger feature.Ledger, locker order.FencedLocker, log *slog.Logger,
) func(context.Context) error {
	// It removes some orders of the first rehearsal that has ended, or the rehearsal itself if no orders are left. It
	// needs no fencing token: EmptyRehearsal checks the sale under its lock, so two instances may run at once.
	batch := func(ctx context.Context, _ int64) (int, error) {
		ids, err := ledger.RetiredRehearsals(ctx)
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		done, err := ledger.EmptyRehearsal(ctx, ids[0], emptyBatch)
		if done {
			log.InfoContext(ctx, "rehearsal removed", "voucher", ids[0])
		}
		return emptyBatch, err
	}
	return func(ctx context.Context) error {
		return job.Job{
			Name: emptierJob, Does: "emptying rehearsals", Every: emptyEvery, Size: emptyBatch, Rate: emptyRate,
			Batch: batch,
		}.Run(ctx, locker, log)
	}
}

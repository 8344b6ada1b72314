package journal

import (
	"context"
	"time"

	"seckill/internal/feature"
	"seckill/internal/order/job"
)

const (
	cleaner = "journal" // the name of the job's lock

	keep       = 30 * 24 * time.Hour
	cleanEvery = 10 * time.Minute
	cleanRows  = 500
)

// clean deletes what is older than keep, on one instance at a time, until ctx ends.
func clean(ctx context.Context, ledger Ledger, core feature.Core) error {
	return job.Job{
		Name: cleaner, Does: "deleting old refusals", Every: cleanEvery, Size: cleanRows,
		Batch: func(ctx context.Context, token int64) (int, error) {
			return ledger.Forget(ctx, token, keep, cleanRows)
		},
	}.Run(ctx, core.TryLock, core.Log)
}

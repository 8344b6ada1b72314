package journal

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/job"
)

const (
	cleaner = "journal" // the name of the job's lock

	keep       = 30 * 24 * time.Hour
	cleanEvery = 10 * time.Minute
	cleanRows  = 500
)

// clean deletes what is older than keep, on one instance at a time, until ctx ends.
func clean(
	ctx context.Context, forget func(ctx context.Context, token int64, age time.Duration, n int) (int, error),
	locker order.FencedLocker, log *slog.Logger,
) error {
	return job.Job{
		Name: cleaner, Does: "deleting old refusals", Every: cleanEvery, Size: cleanRows,
		Batch: func(ctx context.Context, token int64) (int, error) { return forget(ctx, token, keep, cleanRows) },
	}.Run(ctx, locker, log)
}

package guard

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/feature/guard/store"
	"seckill/internal/order"
	"seckill/internal/order/job"
)

// closeDraws closes the draws whose time has come, on one instance at a time, until ctx ends.
func closeDraws(
	ctx context.Context, batch func(ctx context.Context, token int64) (int, error), locker order.FencedLocker,
	log *slog.Logger,
) error {
	return job.Job{
		Name: store.DrawJob, Does: "closing the draws of sales", Every: time.Second, Size: store.DrawsClosed,
		Batch: batch,
	}.Run(ctx, locker, log)
}

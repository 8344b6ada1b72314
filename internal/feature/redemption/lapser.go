package redemption

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/job"
)

const (
	lapseEvery = 5 * time.Second // how often due coupons are looked for when there were none
	lapseBatch = 200             // coupons in one transaction at most
	lapseRate  = 400             // coupons a second at most: very many may be due at midnight
)

const (
	lapserJob = "lapser"
	// ByLapser ends coupons whose time is over.
	ByLapser order.Actor = lapserJob
)

// lapser is the job that lapses coupons whose date has passed. One instance at a time does (package job). Until it
// comes to a coupon, tills refuse the coupon by its date.
func lapser(
	ledger Coupons, locker order.FencedLocker, notifier order.StatusNotifier, metrics *Metrics, log *slog.Logger,
) func(context.Context) error {
	batch := func(ctx context.Context, token int64) (seen int, err error) {
		start := time.Now()
		lapsed, seen, err := ledger.LapseDue(ctx, token, lapseBatch)
		if err != nil || len(lapsed) == 0 {
			return seen, err
		}
		metrics.CouponsLapsed(len(lapsed), time.Since(start))
		outcomes := make(map[int64]order.Status, len(lapsed))
		for _, o := range lapsed {
			outcomes[o.ID] = o.Status
		}
		notifier.Notify(outcomes)
		return seen, nil
	}
	return func(ctx context.Context) error {
		return job.Job{
			Name: lapserJob, Does: "lapsing coupons", Every: lapseEvery, Size: lapseBatch, Rate: lapseRate,
			Batch: batch,
		}.Run(ctx, locker, log)
	}
}

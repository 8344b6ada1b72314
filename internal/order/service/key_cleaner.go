package service

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/job"
)

const (
	keepKeys   = 30 * 24 * time.Hour
	cleanEvery = time.Minute // how often it looks for old keys after it found none
	cleanBatch = 1000        // keys in one transaction
)

// KeyCleaner deletes idempotency keys once they are 30 days old. One instance at a time does so (package job).
type KeyCleaner struct {
	// Forget deletes the oldest keys among those older than age, about n at most, and returns how many. If a higher
	// token than the given one has been used, it deletes none and returns order.ErrSuperseded.
	Forget func(ctx context.Context, token int64, age time.Duration, n int) (int, error)
	Locker order.FencedLocker
	Log    *slog.Logger
}

// Run deletes keys, or waits for its turn, until ctx ends, and then returns nil.
func (k *KeyCleaner) Run(ctx context.Context) error {
	return job.Job{
		Name: order.KeysJob, Does: "deleting old idempotency keys", Every: cleanEvery, Size: cleanBatch,
		Batch: func(ctx context.Context, token int64) (int, error) {
			return k.Forget(ctx, token, keepKeys, cleanBatch)
		},
	}.Run(ctx, k.Locker, k.Log)
}

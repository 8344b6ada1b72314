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

// forgetKeys deletes the oldest keys among those older than age, about n at most, and returns how many. If a higher
// token than the given one has been used, it deletes none and returns order.ErrSuperseded.
type forgetKeys func(ctx context.Context, token int64, age time.Duration, n int) (int, error)

// KeyCleaner deletes idempotency keys once they are 30 days old. One instance at a time does so (package job).
type KeyCleaner struct {
	forget forgetKeys
	locker order.FencedLocker
	log    *slog.Logger
}

// NewKeyCleaner returns a cleaner of a ledger's keys; Run starts it.
func NewKeyCleaner(forget forgetKeys, locker order.FencedLocker, log *slog.Logger) *KeyCleaner {
	return &KeyCleaner{forget, locker, log}
}

// Run deletes keys, or waits for its turn, until ctx ends, and then returns nil.
func (k *KeyCleaner) Run(ctx context.Context) error {
	return job.Job{
		Name: order.KeysJob, Does: "deleting old idempotency keys", Every: cleanEvery, Size: cleanBatch,
		Batch: func(ctx context.Context, token int64) (int, error) {
			return k.forget(ctx, token, keepKeys, cleanBatch)
		},
	}.Run(ctx, k.locker, k.log)
}

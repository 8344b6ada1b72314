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

// KeyLedger keeps the idempotency keys of requests.
type KeyLedger interface {
	// ForgetKeys deletes the oldest keys among those older than age, about n at most, and returns how many. It returns
	// order.ErrSuperseded, and deletes none, if a higher token than the given one has been used.
	ForgetKeys(ctx context.Context, token int64, age time.Duration, n int) (int, error)
}

// KeyCleaner deletes idempotency keys once they are 30 days old. One instance at a time does so (package job).
type KeyCleaner struct {
	ledger KeyLedger
	locker order.FencedLocker
	log    *slog.Logger
}

// NewKeyCleaner returns a cleaner; Run starts it.
func NewKeyCleaner(ledger KeyLedger, locker order.FencedLocker, log *slog.Logger) *KeyCleaner {
	return &KeyCleaner{ledger, locker, log}
}

// Run deletes keys, or waits for its turn, until ctx ends, and then returns nil.
func (k *KeyCleaner) Run(ctx context.Context) error {
	return job.Job{
		Name: order.KeysJob, Does: "deleting old idempotency keys", Every: cleanEvery, Size: cleanBatch,
		Batch: func(ctx context.Context, token int64) (int, error) {
			return k.ledger.ForgetKeys(ctx, token, keepKeys, cleanBatch)
		},
	}.Run(ctx, k.locker, k.log)
}

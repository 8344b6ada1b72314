package redemption

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/kit/periodic"
)

// loadKeysEvery is how long an instance may go on making codes with the key before a rotation.
const loadKeysEvery = 20 * time.Second

// KeyLoader reads the keys of codes every so often, so that the ledger makes new codes with the newest one and no
// payment waits for a key. While they cannot be read, the key that is known stays in use.
type KeyLoader struct {
	ledger Coupons
	log    *slog.Logger
}

// NewKeyLoader returns a loader; Run starts it.
func NewKeyLoader(ledger Coupons, log *slog.Logger) *KeyLoader {
	return &KeyLoader{ledger: ledger, log: log}
}

// Run loads the keys until ctx ends. It always returns nil.
func (l *KeyLoader) Run(ctx context.Context) error {
	return periodic.Every(ctx, loadKeysEvery, func(ctx context.Context) {
		if _, err := l.ledger.CouponKeys(ctx); err != nil && ctx.Err() == nil {
			l.log.DebugContext(ctx, "the keys of codes cannot be read; the one that is known stays in use",
				"error", err)
		}
	})
}

package installation

import (
	"context"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// FindKey implements httpapi.Keys.
func (t *Tables) FindKey(ctx context.Context, k idempotency.Key) error {
	return sqlkit.ReadError("repeating a request", sqlkit.FindKey(t.db.Read(ctx), k))
}

// ForgetKeys is for service.KeyCleaner.
func (t *Tables) ForgetKeys(ctx context.Context, token int64, age time.Duration, n int) (forgotten int, err error) {
	err = t.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		if err := sqlkit.RaiseFence(tx, order.KeysJob, token); err != nil {
			return err
		}
		now, err := t.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		forgotten, err = sqlkit.ForgetKeys(tx, now, age, n)
		return err
	})
	if err != nil {
		return 0, sqlkit.ReadError("deleting old idempotency keys", err)
	}
	return forgotten, nil
}

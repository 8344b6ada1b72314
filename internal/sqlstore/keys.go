package sqlstore

import (
	"context"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// FindKey implements httpapi.Keys.
func (s *Store) FindKey(ctx context.Context, k idempotency.Key) error { return s.db.FindKey(ctx, k) }

// ForgetKeys implements service.KeyLedger.
func (s *Store) ForgetKeys(ctx context.Context, token int64, age time.Duration, n int) (forgotten int, err error) {
	err = s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		if err := sqlkit.RaiseFence(tx, order.KeysJob, token); err != nil {
			return err
		}
		now, err := s.db.LedgerTime(tx)
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

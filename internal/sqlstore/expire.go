package sqlstore

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// ExpireDue implements service.ExpiryLedger. An order that another transaction has locked is left for the next call.
func (s *Store) ExpireDue(ctx context.Context, token int64, n int) ([]order.Order, error) {
	var rows []orderRow
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		if err := sqlkit.RaiseFence(tx, order.ExpirerJob, token); err != nil {
			return err
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if rows, err = lockUnpaid(tx.Where("pay_deadline <= ?", now).Order("pay_deadline, id").Limit(n)); err != nil {
			return err
		}
		if err := s.advance(tx, rows, order.Expire,
			cause{by: order.ByExpirer, at: now, why: order.NotPaidInTime}); err != nil {
			return err
		}
		return s.countUnpaid(tx, rows, now)
	})
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("expiring %d due orders", n), err)
	}
	expired := make([]order.Order, len(rows))
	for i := range rows {
		expired[i] = rows[i].order()
	}
	return expired, nil
}

// lockUnpaid locks and returns those of the unpaid orders that no other transaction has locked.
func lockUnpaid(query *gorm.DB) ([]orderRow, error) {
	var rows []orderRow
	locking := clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}
	if err := query.Clauses(locking).Where("status = ?", order.Unpaid).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("locking unpaid orders: %w", err)
	}
	return rows, nil
}

package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

type fenceRow struct {
	Name  string `gorm:"column:name;primaryKey"`
	Token int64  `gorm:"column:token"`
}

// TableName implements gorm's schema.Tabler.
func (fenceRow) TableName() string { return "tb_fence" }

// ExpireDue implements service.ExpiryLedger. An order that another transaction has locked is left for the next call.
func (s *Store) ExpireDue(ctx context.Context, token int64, n int) ([]order.Order, error) {
	var rows []orderRow
	err := s.writeRetry(ctx, func(tx *gorm.DB) error {
		if err := raiseFence(tx, order.ExpirerJob, token); err != nil {
			return err
		}
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		if err := setMissingDeadlines(tx, now, n); err != nil {
			return err
		}
		if rows, err = lockUnpaid(tx.Where("pay_deadline <= ?", now).Order("pay_deadline, id").Limit(n)); err != nil {
			return err
		}
		if err := s.advance(tx, rows, order.Expire, cause{by: order.ByExpirer, at: now, why: order.NotPaidInTime}); err != nil {
			return err
		}
		return s.countUnpaid(tx, rows, now)
	})
	if err != nil {
		return nil, readError(fmt.Sprintf("expiring %d due orders", n), err)
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

// setMissingDeadlines gives a deadline to up to n unpaid orders without one: programs before migration 2 recorded them.
func setMissingDeadlines(tx *gorm.DB, now time.Time, n int) error {
	rows, err := lockUnpaid(tx.Where("pay_deadline IS NULL").Limit(n))
	if err != nil {
		return err
	}
	ids := idsOf(rows)
	for part := range chunks(ids) {
		err := tx.Model(&orderRow{}).Where("id IN ?", part).Update("pay_deadline", now.Add(voucher.DefaultPayWithin)).Error
		if err != nil {
			return fmt.Errorf("giving %d orders a deadline: %w", len(ids), err)
		}
	}
	return nil
}

// raiseFence returns order.ErrSuperseded when a higher token than the given one has been used, and otherwise prevents the
// use of a lower one from now on. It locks the fence until the transaction ends.
func raiseFence(tx *gorm.DB, name string, token int64) error {
	var row fenceRow
	err := locking(tx).Where("name = ?", name).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		err = tx.Create(&fenceRow{Name: name, Token: token}).Error
	case err == nil && row.Token > token:
		return fmt.Errorf("%w: token %d of %s, and %d was used", order.ErrSuperseded, token, name, row.Token)
	case err == nil && row.Token < token:
		err = tx.Model(&fenceRow{}).Where("name = ?", name).Update("token", token).Error
	}
	if err != nil {
		return fmt.Errorf("raising the fence of %s: %w", name, err)
	}
	return nil
}

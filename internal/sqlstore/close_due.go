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

// closerFence names the token of whoever closes due orders.
const closerFence = "closer"

type fenceRow struct {
	Name  string `gorm:"column:name;primaryKey"`
	Token int64  `gorm:"column:token"`
}

// TableName implements gorm's schema.Tabler.
func (fenceRow) TableName() string { return "tb_fence" }

// CloseDue implements order.DueOrders. An order that somebody else changes at the moment is left for the next call.
func (s *Store) CloseDue(ctx context.Context, token int64, n int) ([]order.Order, error) {
	var rows []orderRow
	err := s.writeAgain(ctx, func(tx *gorm.DB) error {
		if err := raiseFence(tx, closerFence, token); err != nil {
			return err
		}
		now, err := s.moment(tx)
		if err != nil {
			return err
		}
		if err := adopt(tx, now, n); err != nil {
			return err
		}
		if rows, err = lockUnpaid(tx.Where("pay_deadline <= ?", now).Order("pay_deadline, id").Limit(n)); err != nil {
			return err
		}
		return advance(tx, rows, order.Close, cause{by: order.ByCloser, at: now, why: "not paid in time"})
	})
	if err != nil {
		return nil, readError(fmt.Sprintf("closing %d due orders", n), err)
	}
	closed := make([]order.Order, len(rows))
	for i := range rows {
		closed[i] = rows[i].order()
	}
	return closed, nil
}

// lockUnpaid locks and returns those of the unpaid orders that nobody else has locked.
func lockUnpaid(query *gorm.DB) ([]orderRow, error) {
	var rows []orderRow
	locking := clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}
	if err := query.Clauses(locking).Where("status = ?", order.Unpaid).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("locking unpaid orders: %w", err)
	}
	return rows, nil
}

// adopt gives up to n unpaid orders that have no deadline one: programs that knew none recorded them.
func adopt(tx *gorm.DB, now time.Time, n int) error {
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

// raiseFence returns order.ErrSuperseded when a higher token than the given one has been used, and otherwise sees to
// it that no lower one can be from now on. It holds the fence until the transaction ends.
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

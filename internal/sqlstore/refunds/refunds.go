// Package refunds reads and writes the refunds of payments. Every change of one is made under the lock of its payment's
// order.
package refunds

import (
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

type row struct {
	Number     int64               `gorm:"column:number;primaryKey;autoIncrement"`
	ID         string              `gorm:"column:id"`
	PaymentID  string              `gorm:"column:payment_id"`
	Amount     int64               `gorm:"column:amount"`
	State      payment.RefundState `gorm:"column:state"`
	Origin     payment.Origin      `gorm:"column:origin"`
	Reference  string              `gorm:"column:reference"`
	Actor      string              `gorm:"column:actor"`
	Why        string              `gorm:"column:why"`
	Failure    string              `gorm:"column:failure"`
	CreateTime time.Time           `gorm:"column:create_time"`
	SendTime   *time.Time          `gorm:"column:send_time"`
	DoneTime   *time.Time          `gorm:"column:done_time"`
	FailTime   *time.Time          `gorm:"column:fail_time"`
	CloseTime  *time.Time          `gorm:"column:close_time"`
}

// TableName implements gorm's schema.Tabler.
func (*row) TableName() string { return "tb_refund" }

func (r *row) refund() payment.Refund {
	return payment.Refund{
		ID: r.ID, Number: r.Number, PaymentID: r.PaymentID, Amount: r.Amount, State: r.State, Origin: r.Origin,
		Reference: r.Reference, Actor: r.Actor, Why: r.Why, Failure: r.Failure, CreatedAt: r.CreateTime,
		SentAt: sqlkit.At(r.SendTime), DoneAt: sqlkit.At(r.DoneTime), FailedAt: sqlkit.At(r.FailTime),
		ClosedAt: sqlkit.At(r.CloseTime),
	}
}

func rowOf(r payment.Refund) row {
	return row{
		ID: r.ID, Number: r.Number, PaymentID: r.PaymentID, Amount: r.Amount, State: r.State, Origin: r.Origin,
		Reference: r.Reference, Actor: r.Actor, Why: r.Why, Failure: r.Failure, CreateTime: r.CreatedAt,
		SendTime: sqlkit.Stamp(r.SentAt), DoneTime: sqlkit.Stamp(r.DoneAt), FailTime: sqlkit.Stamp(r.FailedAt),
		CloseTime: sqlkit.Stamp(r.ClosedAt),
	}
}

// Of returns the refunds of payments, by payment, the oldest first.
func Of(db *gorm.DB, payments []string) (map[string][]payment.Refund, error) {
	found := make(map[string][]payment.Refund)
	for part := range sqlkit.Chunks(payments) {
		var rows []row
		if err := db.Where("payment_id IN ?", part).Order("payment_id, number").Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("reading the refunds of %d payments: %w", len(part), err)
		}
		for i := range rows {
			found[rows[i].PaymentID] = append(found[rows[i].PaymentID], rows[i].refund())
		}
	}
	return found, nil
}

// In returns up to n refunds in a state, of one origin or, with 0, of any, the oldest first.
func In(db *gorm.DB, state payment.RefundState, origin payment.Origin, n int) ([]payment.Refund, error) {
	query := db.Where("state = ?", state)
	if origin != 0 {
		query = query.Where("origin = ?", origin)
	}
	var rows []row
	if err := query.Order("number").Limit(n).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("reading refunds that are %s: %w", state, err)
	}
	return sqlkit.Map(rows, (*row).refund), nil
}

// CountUnseen returns how many refunds of parts have failed, and nobody has seen to them.
func CountUnseen(db *gorm.DB) (n int64, err error) {
	err = db.Model(&row{}).Where("state = ? AND close_time IS NULL AND origin <> ?", payment.RefundFailed,
		payment.OriginAll).Count(&n).Error
	if err != nil {
		return 0, fmt.Errorf("counting refunds that have failed: %w", err)
	}
	return n, nil
}

// Save writes what has changed in the refunds of one payment.
func Save(tx *gorm.DB, before, after []payment.Refund) error {
	for _, old := range before {
		if !slices.ContainsFunc(after, func(r payment.Refund) bool { return r.Number == old.Number }) {
			if err := tx.Delete(&row{Number: old.Number}).Error; err != nil {
				return fmt.Errorf("removing refund %s: %w", old.ID, err)
			}
		}
	}
	for i := range after {
		r := rowOf(after[i])
		var err error
		switch {
		case r.Number == 0:
			if err = tx.Create(&r).Error; err == nil {
				after[i].Number = r.Number
			}
		case !slices.Contains(before, after[i]):
			err = tx.Model(&r).Select("*").Updates(&r).Error
		}
		if err != nil {
			return fmt.Errorf("writing refund %s: %w", r.ID, err)
		}
	}
	return nil
}

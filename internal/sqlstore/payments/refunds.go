package payments

import (
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

// refundRow is a refund of a payment. Every change of one is made under the lock of its payment's order.
type refundRow struct {
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
func (*refundRow) TableName() string { return "tb_refund" }

func (r *refundRow) refund() payment.Refund {
	return payment.Refund{
		ID: r.ID, Number: r.Number, PaymentID: r.PaymentID, Amount: r.Amount, State: r.State, Origin: r.Origin,
		Reference: r.Reference, Actor: r.Actor, Why: r.Why, Failure: r.Failure, CreatedAt: r.CreateTime,
		SentAt: sqlkit.At(r.SendTime), DoneAt: sqlkit.At(r.DoneTime), FailedAt: sqlkit.At(r.FailTime),
		ClosedAt: sqlkit.At(r.CloseTime),
	}
}

func refundRowOf(r payment.Refund) refundRow {
	return refundRow{
		ID: r.ID, Number: r.Number, PaymentID: r.PaymentID, Amount: r.Amount, State: r.State, Origin: r.Origin,
		Reference: r.Reference, Actor: r.Actor, Why: r.Why, Failure: r.Failure, CreateTime: r.CreatedAt,
		SendTime: sqlkit.Stamp(r.SentAt), DoneTime: sqlkit.Stamp(r.DoneAt), FailTime: sqlkit.Stamp(r.FailedAt),
		CloseTime: sqlkit.Stamp(r.ClosedAt),
	}
}

// refundsOf returns the refunds of payments, by payment, the oldest first.
func refundsOf(db *gorm.DB, payments []string) (map[string][]payment.Refund, error) {
	found := make(map[string][]payment.Refund)
	for part := range sqlkit.Chunks(payments) {
		var rows []refundRow
		if err := db.Where("payment_id IN ?", part).Order("payment_id, number").Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("reading the refunds of %d payments: %w", len(part), err)
		}
		for i := range rows {
			found[rows[i].PaymentID] = append(found[rows[i].PaymentID], rows[i].refund())
		}
	}
	return found, nil
}

// saveRefunds writes what has changed in the refunds of one payment.
func saveRefunds(tx *gorm.DB, before, after []payment.Refund) error {
	for _, old := range before {
		if !slices.ContainsFunc(after, func(r payment.Refund) bool { return r.Number == old.Number }) {
			if err := tx.Delete(&refundRow{Number: old.Number}).Error; err != nil {
				return fmt.Errorf("removing refund %s: %w", old.ID, err)
			}
		}
	}
	for i := range after {
		r := refundRowOf(after[i])
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

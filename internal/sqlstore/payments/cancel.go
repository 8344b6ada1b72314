package payments

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

// CancelOpen notes that the open payments of orders are to be cancelled at their providers, but for one.
func CancelOpen(tx *gorm.DB, clock func() (time.Time, error), orders []int64, but string) error {
	for part := range sqlkit.Chunks(orders) {
		var open []string
		err := tx.Model(&Row{}).Where("order_id IN ? AND state = ? AND amount > 0 AND id <> ?", part,
			payment.Open, but).Order("id").Pluck("id", &open).Error
		if err != nil {
			return fmt.Errorf("looking for payments to cancel: %w", err)
		}
		if len(open) == 0 {
			continue
		}
		now, err := clock()
		if err != nil {
			return err
		}
		rows := sqlkit.Map(open, func(id *string) cancelRow { return cancelRow{*id, now} })
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error; err != nil {
			return fmt.Errorf("noting %d payments to cancel: %w", len(rows), err)
		}
	}
	return nil
}

// cancelRow is a payment that its provider is to be told to expect no more.
type cancelRow struct {
	PaymentID  string    `gorm:"column:payment_id;primaryKey"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (cancelRow) TableName() string { return "tb_payment_cancel" }

// cancelFor is how long the service goes on asking a provider to cancel a payment after its order has ended. Money that
// comes later goes back.
const cancelFor = 24 * time.Hour

// ToCancel implements service.PaymentLedger.
func (s Lists) ToCancel(ctx context.Context, n int) ([]payment.Payment, error) {
	const what = "looking for payments to cancel"
	var rows []cancelRow
	if err := s.db.Read(ctx).Order("create_time").Limit(n).Find(&rows).Error; err != nil || len(rows) == 0 {
		return nil, sqlkit.ReadError(what, err)
	}
	if old := s.db.Clock().Add(-cancelFor); rows[0].CreateTime.Before(old) {
		err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
			return tx.Where("create_time < ?", old).Delete(&cancelRow{}).Error
		})
		if err != nil {
			return nil, sqlkit.ReadError("giving up payments to cancel", err)
		}
	}
	ids := sqlkit.Map(rows, func(r *cancelRow) string { return r.PaymentID })
	return sqlkit.List(s.db.Read(ctx).Where("id IN ?", ids).Order("number"), what, (*Row).Payment)
}

// Cancelled implements service.PaymentLedger.
func (s Lists) Cancelled(ctx context.Context, paymentID string) error {
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error { return tx.Delete(&cancelRow{PaymentID: paymentID}).Error })
	return sqlkit.ReadError("noting that payment "+paymentID+" is cancelled", err)
}

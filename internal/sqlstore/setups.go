package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/preflight"
	"seckill/internal/voucher"
)

type setupRow struct {
	VoucherID  int64     `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	BeginTime  time.Time `gorm:"column:begin_time;primaryKey"`
	Setup      string    `gorm:"column:setup"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (setupRow) TableName() string { return "tb_sale_setup" }

// begun is when a sale began: one that is created with a begin in the past is on sale at once.
const begun = "CASE WHEN v.create_time > s.begin_time THEN v.create_time ELSE s.begin_time END"

// SalesWithoutSetup implements preflight.SetupLedger.
func (s *Store) SalesWithoutSetup(ctx context.Context, within time.Duration, n int) ([]preflight.BegunSale, error) {
	const what = "looking for sales that have begun"
	now, err := s.serverTime(ctx)
	if err != nil {
		return nil, readError(what, err)
	}
	var rows []struct {
		VoucherID             int64
		BeginTime, CreateTime time.Time
	}
	err = s.read(ctx).Table("tb_seckill_voucher s").Select("s.voucher_id, s.begin_time, v.create_time").
		Joins("JOIN tb_voucher v ON v.id = s.voucher_id").
		Where("s.retired = ? AND s.paused = ? AND v.status = ? AND v.shop_id <> ?", false, false, voucher.OnShelf, voucher.RehearsalShop).
		Where("s.begin_time <= ? AND "+begun+" > ?", now, now.Add(-within)).
		Where("NOT EXISTS (SELECT 1 FROM tb_sale_setup k WHERE k.voucher_id = s.voucher_id AND k.begin_time = " + begun + ")").
		Order(begun + ", s.voucher_id").Limit(n).Find(&rows).Error
	if err != nil {
		return nil, readError(what, err)
	}
	sales := make([]preflight.BegunSale, len(rows))
	for i, row := range rows {
		began := row.BeginTime
		if row.CreateTime.After(began) {
			began = row.CreateTime
		}
		sales[i] = preflight.BegunSale{VoucherID: row.VoucherID, Begin: began, Ago: now.Sub(began)}
	}
	return sales, nil
}

// KeepSetup implements preflight.SetupLedger.
func (s *Store) KeepSetup(ctx context.Context, sales []preflight.BegunSale, setup preflight.Setup, age time.Duration) (kept int64, err error) {
	text, err := json.Marshal(setup)
	if err != nil {
		return 0, fmt.Errorf("rendering a setup: %w", err)
	}
	err = s.writeRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		rows := make([]setupRow, len(sales))
		for i, sale := range sales {
			rows[i] = setupRow{VoucherID: sale.VoucherID, BeginTime: sale.Begin.UTC(), Setup: string(text), CreateTime: now}
		}
		created := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows)
		kept = created.RowsAffected
		if created.Error != nil {
			return created.Error
		}
		return tx.Where("begin_time < ?", now.Add(-age)).Delete(&setupRow{}).Error
	})
	if err != nil {
		return 0, readError("keeping the setup of sales that have begun", err)
	}
	return kept, nil
}

// LastSale returns the last sale that began before a voucher's, or before now if that has not begun, of those whose setup was kept; nil
// for none. A setup that cannot be read is one of which nothing is known.
func (s *Store) LastSale(ctx context.Context, voucherID int64) (*preflight.LastSale, error) {
	var rows []struct {
		VoucherID int64
		Title     string
		BeginTime time.Time
		Setup     string
	}
	err := s.read(ctx).Table("tb_sale_setup k").Select("k.voucher_id, v.title, k.begin_time, k.setup").
		Joins("JOIN tb_voucher v ON v.id = k.voucher_id").
		Where("k.voucher_id <> ?", voucherID).
		// Its own setup says that it has begun, unless its begin was moved since.
		Where("NOT EXISTS (SELECT 1 FROM tb_sale_setup o JOIN tb_seckill_voucher s ON s.voucher_id = o.voucher_id "+
			"WHERE o.voucher_id = ? AND o.begin_time >= s.begin_time AND o.begin_time <= k.begin_time)", voucherID).
		Order("k.begin_time DESC, k.voucher_id DESC").Limit(1).Find(&rows).Error
	if err != nil {
		return nil, readError(fmt.Sprintf("looking for the sale before voucher %d", voucherID), err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // there need not be one
	}
	last := &preflight.LastSale{VoucherID: rows[0].VoucherID, Title: rows[0].Title, Begin: rows[0].BeginTime}
	if json.Unmarshal([]byte(rows[0].Setup), &last.Setup) != nil {
		last.Setup = nil
	}
	return last, nil
}

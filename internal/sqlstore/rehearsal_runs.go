package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order/rehearsal"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

type rehearsalRow struct {
	VoucherID  int64      `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	OfVoucher  int64      `gorm:"column:of_voucher"`
	AdminID    int64      `gorm:"column:admin_id"`
	Issued     int64      `gorm:"column:issued"`
	BeginTime  time.Time  `gorm:"column:begin_time"`
	EndTime    time.Time  `gorm:"column:end_time"`
	ReportTime *time.Time `gorm:"column:report_time"`
	Done       bool       `gorm:"column:done"`
	Figures    string     `gorm:"column:figures"`
}

// TableName implements gorm's schema.Tabler.
func (rehearsalRow) TableName() string { return "tb_rehearsal" }

// createRehearsal writes the row of a rehearsal, in the transaction that creates its voucher: none runs of which
// nothing is kept.
func createRehearsal(tx *gorm.DB, id int64, v *voucher.Voucher, by voucher.Author) error {
	row := rehearsalRow{
		VoucherID: id, OfVoucher: v.Rehearses, AdminID: by.AdminID, Issued: v.Sale.Issued,
		BeginTime: v.Sale.Begin.UTC(), EndTime: v.Sale.End.UTC(),
	}
	if err := tx.Create(&row).Error; err != nil {
		return fmt.Errorf("rehearsal: %w", err)
	}
	return nil
}

// run returns the row as a rehearsal. Figures that cannot be read are none.
func (r rehearsalRow) run() rehearsal.Run {
	run := rehearsal.Run{
		VoucherID: r.VoucherID, Of: r.OfVoucher, AdminID: r.AdminID, Begin: r.BeginTime, End: r.EndTime, Done: r.Done,
	}
	if r.ReportTime != nil && json.Unmarshal([]byte(r.Figures), &run.Figures) == nil {
		run.ReportedAt = *r.ReportTime
	}
	run.Figures.Stock = r.Issued
	return run
}

// Rehearsals implements rehearsal.Runs.
func (s *Store) Rehearsals(ctx context.Context, of int64, limit int) ([]rehearsal.Run, error) {
	var rows []rehearsalRow
	if err := s.db.Read(ctx).Where("of_voucher = ?",
		of).Order("voucher_id DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("listing the rehearsals of voucher %d", of), err)
	}
	runs := make([]rehearsal.Run, len(rows))
	for i, row := range rows {
		runs[i] = row.run()
	}
	return runs, nil
}

// Rehearsal implements rehearsal.Runs.
func (s *Store) Rehearsal(ctx context.Context, voucherID int64) (rehearsal.Run, error) {
	row, err := findRehearsal(s.db.Read(ctx), voucherID)
	if err != nil {
		return rehearsal.Run{}, sqlkit.ReadError(fmt.Sprintf("reading rehearsal %d", voucherID), err)
	}
	return row.run(), nil
}

// ChangeRehearsal implements rehearsal.Runs.
func (s *Store) ChangeRehearsal(
	ctx context.Context, voucherID int64, change func(now time.Time, r *rehearsal.Run) error,
) (run rehearsal.Run, err error) {
	err = s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		row, err := findRehearsal(sqlkit.Locking(tx), voucherID)
		if err != nil {
			return err
		}
		run = row.run()
		if err := change(now, &run); err != nil {
			return err
		}
		figures, err := json.Marshal(run.Figures)
		if err != nil {
			return fmt.Errorf("rendering figures: %w", err)
		}
		return tx.Model(&row).Select("end_time", "report_time", "done", "figures").Updates(rehearsalRow{
			EndTime: run.End.UTC(), ReportTime: sqlkit.Stamp(run.ReportedAt), Done: run.Done, Figures: string(figures),
		}).Error
	})
	if err != nil {
		return run, sqlkit.ReadError(fmt.Sprintf("changing rehearsal %d", voucherID), err)
	}
	return run, nil
}

func findRehearsal(tx *gorm.DB, voucherID int64) (rehearsalRow, error) {
	var row rehearsalRow
	err := tx.Where("voucher_id = ?", voucherID).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, rehearsal.ErrNone
	}
	return row, err
}

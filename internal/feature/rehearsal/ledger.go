package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

type row struct {
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
func (row) TableName() string { return "tb_rehearsal" }

// Ledger keeps rehearsals in the ledger's database.
type Ledger struct{ db *sqlkit.DB }

// NewLedger returns a ledger.
func NewLedger(db *sqlkit.DB) *Ledger { return &Ledger{db} }

// create writes the row of a rehearsal. It does nothing for other vouchers.
func create(tx *gorm.DB, v voucher.Voucher, by voucher.Author) error {
	if v.Rehearses == 0 {
		return nil
	}
	created := row{
		VoucherID: v.ID, OfVoucher: v.Rehearses, AdminID: by.AdminID, Issued: v.Sale.Issued,
		BeginTime: v.Sale.Begin.UTC(), EndTime: v.Sale.End.UTC(),
	}
	if err := tx.Create(&created).Error; err != nil {
		return fmt.Errorf("rehearsal: %w", err)
	}
	return nil
}

// run returns the row as a Run, with zero figures if they cannot be read.
func (r row) run() Run {
	run := Run{
		VoucherID: r.VoucherID, Of: r.OfVoucher, AdminID: r.AdminID, Begin: r.BeginTime, End: r.EndTime, Done: r.Done,
	}
	if r.ReportTime != nil && json.Unmarshal([]byte(r.Figures), &run.Figures) == nil {
		run.ReportedAt = *r.ReportTime
	}
	run.Figures.Stock = r.Issued
	return run
}

// List implements Runs.
func (l *Ledger) List(ctx context.Context, of int64, limit int) ([]Run, error) {
	return sqlkit.List(l.db.Read(ctx).Where("of_voucher = ?", of).Order("voucher_id DESC").Limit(limit),
		fmt.Sprintf("listing the rehearsals of voucher %d", of), (*row).run)
}

// Find implements Runs.
func (l *Ledger) Find(ctx context.Context, voucherID int64) (Run, error) {
	found, err := find(l.db.Read(ctx), voucherID)
	return found.run(), sqlkit.ReadError(fmt.Sprintf("reading rehearsal %d", voucherID), err)
}

// Change implements Runs.
func (l *Ledger) Change(
	ctx context.Context, voucherID int64, change func(now time.Time, r *Run) error,
) (run Run, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		found, err := find(sqlkit.Locking(tx), voucherID)
		if err != nil {
			return err
		}
		run = found.run()
		if err := change(now, &run); err != nil {
			return err
		}
		figures, err := json.Marshal(run.Figures)
		if err != nil {
			return fmt.Errorf("rendering figures: %w", err)
		}
		return tx.Model(&found).Select("end_time", "report_time", "done", "figures").Updates(row{
			EndTime: run.End.UTC(), ReportTime: sqlkit.Stamp(run.ReportedAt), Done: run.Done, Figures: string(figures),
		}).Error
	})
	return run, sqlkit.ReadError(fmt.Sprintf("changing rehearsal %d", voucherID), err)
}

// lastLooked is how many rehearsals Last reads.
const lastLooked = 5

// Last returns the last rehearsal of a voucher's sale that has a result, or nil if none of the last lastLooked has.
func Last(ctx context.Context, db *sqlkit.DB, of int64) (*Run, error) {
	runs, err := NewLedger(db).List(ctx, of, lastLooked)
	for _, r := range runs {
		if r.Done {
			return &r, nil
		}
	}
	return nil, err
}

func find(tx *gorm.DB, voucherID int64) (row, error) {
	return sqlkit.Take[row](tx.Where("voucher_id = ?", voucherID), ErrNone, "finding it")
}

package report

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order/timeline"
	"seckill/internal/sqlstore/sqlkit"
)

// minuteRow has the columns of a minute that reports read.
type minuteRow struct {
	StartTime time.Time `gorm:"column:start_time"`
	Run       int64     `gorm:"column:run"`
	Totals    string    `gorm:"column:totals"`
	Seconds   string    `gorm:"column:seconds"`
}

// TableName implements gorm's schema.Tabler.
func (minuteRow) TableName() string { return "tb_sale_minute" }

// minuteTotals returns the totals of the sale's minutes behind the place, by start and run, at most limit.
func (l ledger) minuteTotals(
	ctx context.Context, voucherID int64, after place, limit int,
) ([]minuteTotal, error) {
	query := minutesAfter(l.db.Read(ctx).Select("start_time", "run", "totals"), voucherID, after, limit)
	return sqlkit.List(query, fmt.Sprintf("adding up the minutes of voucher %d", voucherID),
		func(row *minuteRow) minuteTotal {
			counts, took := timeline.ParseTotals(row.Totals)
			return minuteTotal{place{row.StartTime.UTC(), row.Run}, counts, took}
		})
}

// minutes returns the sale's minutes that start at from or later and before to, behind the place, by start and run, at
// most limit. Counts is nil in a minute that cannot be read.
func (l ledger) minutes(
	ctx context.Context, voucherID int64, from, to time.Time, after place, limit int,
) ([]timeline.Minute, error) {
	query := minutesAfter(l.db.Read(ctx), voucherID, after, limit).
		Where("start_time >= ? AND start_time < ?", from.UTC(), to.UTC())
	return sqlkit.List(query, fmt.Sprintf("reading the minutes of voucher %d", voucherID),
		func(row *minuteRow) timeline.Minute {
			m := timeline.Minute{VoucherID: voucherID, Start: row.StartTime.UTC(), Run: row.Run}
			m.Counts, m.Took = timeline.ParseSeconds(row.Seconds)
			return m
		})
}

// minutesAfter selects the voucher's minutes behind the place, by the primary key.
func minutesAfter(db *gorm.DB, voucherID int64, after place, limit int) *gorm.DB {
	query := db.Where("voucher_id = ?", voucherID).Order("start_time, run").Limit(limit)
	if after != (place{}) {
		query = query.Where("start_time >= ? AND NOT (start_time = ? AND run <= ?)", after.start.UTC(),
			after.start.UTC(), after.run)
	}
	return query
}

package sqlstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order/report"
	"seckill/internal/order/timeline"
	"seckill/internal/sqlstore/sqlkit"
)

type saleMinuteRow struct {
	VoucherID int64     `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	StartTime time.Time `gorm:"column:start_time;primaryKey"`
	Run       int64     `gorm:"column:run;primaryKey;autoIncrement:false"`
	Asked     int64     `gorm:"column:asked"`
	Totals    string    `gorm:"column:totals"`
	Seconds   string    `gorm:"column:seconds"`
}

// TableName implements gorm's schema.Tabler.
func (saleMinuteRow) TableName() string { return "tb_sale_minute" }

// PutMinutes implements timeline.Ledger. A statement whose caller has given up may run after the next one, so a row
// never goes back to fewer requests.
func (s *Store) PutMinutes(ctx context.Context, minutes []timeline.Minute) error {
	rows := make([]saleMinuteRow, len(minutes))
	for i, m := range minutes {
		row, err := newSaleMinuteRow(m)
		if err != nil {
			return err
		}
		rows[i] = row
	}
	proposed := "VALUES(%s)"
	if s.db.Dialect() == sqlkit.SQLite {
		proposed = "excluded.%s"
	}
	newer := func(column string) clause.Assignment {
		asked, value := fmt.Sprintf(proposed, "asked"), fmt.Sprintf(proposed, column)
		return clause.Assignment{Column: clause.Column{Name: column}, Value: gorm.Expr(
			fmt.Sprintf("CASE WHEN %s >= tb_sale_minute.asked THEN %s ELSE tb_sale_minute.%s END",
				asked, value, column))}
	}
	replace := clause.OnConflict{
		Columns: []clause.Column{{Name: "voucher_id"}, {Name: "start_time"}, {Name: "run"}},
		// asked is last, because MySQL sets columns one after the other and the conditions read it
		DoUpdates: clause.Set{newer("totals"), newer("seconds"), newer("asked")},
	}
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error { return tx.Clauses(replace).Create(&rows).Error })
	if err != nil {
		return sqlkit.ReadError(fmt.Sprintf("storing %d minutes of sales", len(minutes)), err)
	}
	return nil
}

func newSaleMinuteRow(m timeline.Minute) (saleMinuteRow, error) {
	totals, seconds, err := m.Texts()
	if err != nil {
		return saleMinuteRow{}, err
	}
	return saleMinuteRow{
		VoucherID: m.VoucherID, StartTime: m.Start.UTC(), Run: m.Run, Asked: m.Asked(), Totals: totals,
		Seconds: seconds,
	}, nil
}

// MinuteTotals implements report.Ledger.
func (s *Store) MinuteTotals(
	ctx context.Context, voucherID int64, after report.Place, limit int,
) ([]report.MinuteTotal, error) {
	var rows []saleMinuteRow
	err := minutesAfter(s.db.Read(ctx).Select("start_time", "run", "totals"), voucherID, after, limit).Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("reading the minutes of voucher %d", voucherID), err)
	}
	totals := make([]report.MinuteTotal, len(rows))
	for i, row := range rows {
		totals[i].Place = report.Place{Start: row.StartTime.UTC(), Run: row.Run}
		totals[i].Counts = timeline.ParseTotals(row.Totals)
	}
	return totals, nil
}

// Minutes implements report.Ledger.
func (s *Store) Minutes(
	ctx context.Context, voucherID int64, from, to time.Time, after report.Place, limit int,
) ([]timeline.Minute, error) {
	var rows []saleMinuteRow
	err := minutesAfter(s.db.Read(ctx), voucherID, after, limit).Where("start_time >= ? AND start_time < ?", from.UTC(),
		to.UTC()).Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("reading the minutes of voucher %d", voucherID), err)
	}
	minutes := make([]timeline.Minute, len(rows))
	for i, row := range rows {
		minutes[i] = timeline.Minute{
			VoucherID: voucherID, Start: row.StartTime.UTC(), Run: row.Run, Counts: timeline.ParseSeconds(row.Seconds),
		}
	}
	return minutes, nil
}

// minutesAfter selects the voucher's minutes behind the place, by the primary key.
func minutesAfter(db *gorm.DB, voucherID int64, after report.Place, limit int) *gorm.DB {
	query := db.Where("voucher_id = ?", voucherID).Order("start_time, run").Limit(limit)
	if after != (report.Place{}) {
		query = query.Where("start_time >= ? AND NOT (start_time = ? AND run <= ?)", after.Start.UTC(),
			after.Start.UTC(), after.Run)
	}
	return query
}

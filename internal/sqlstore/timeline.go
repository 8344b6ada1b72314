package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/order/report"
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

// minuteCounts are the counts of a minute as they are stored: answer → second → requests, without zeros.
type minuteCounts map[order.Answer]map[int]int64

// PutMinutes implements report.TimelineLedger. The statement of a caller who has given up may be carried out after
// the next one's: a minute never goes back to fewer requests.
func (s *Store) PutMinutes(ctx context.Context, minutes []report.Minute) error {
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
		// asked last: MySQL sets one after the other.
		DoUpdates: clause.Set{newer("totals"), newer("seconds"), newer("asked")},
	}
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error { return tx.Clauses(replace).Create(&rows).Error })
	if err != nil {
		return sqlkit.ReadError(fmt.Sprintf("storing %d minutes of sales", len(minutes)), err)
	}
	return nil
}

func newSaleMinuteRow(m report.Minute) (saleMinuteRow, error) {
	counts := make(minuteCounts, len(m.Counts))
	for answer, seconds := range m.Counts {
		counts[answer] = make(map[int]int64)
		for second, n := range seconds {
			if n != 0 {
				counts[answer][second] = n
			}
		}
	}
	totals, err := json.Marshal(m.Totals())
	if err != nil {
		return saleMinuteRow{}, fmt.Errorf("rendering a sale's minute: %w", err)
	}
	seconds, err := json.Marshal(counts)
	if err != nil {
		return saleMinuteRow{}, fmt.Errorf("rendering a sale's minute: %w", err)
	}
	return saleMinuteRow{
		VoucherID: m.VoucherID, StartTime: m.Start.UTC(), Run: m.Run, Asked: m.Asked(), Totals: string(totals),
		Seconds: string(seconds),
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
		if json.Unmarshal([]byte(row.Totals), &totals[i].Counts) != nil {
			totals[i].Counts = nil // a part of it may have been read
		}
	}
	return totals, nil
}

// Minutes implements report.Ledger.
func (s *Store) Minutes(
	ctx context.Context, voucherID int64, from, to time.Time, after report.Place, limit int,
) ([]report.Minute, error) {
	var rows []saleMinuteRow
	err := minutesAfter(s.db.Read(ctx), voucherID, after, limit).Where("start_time >= ? AND start_time < ?", from.UTC(),
		to.UTC()).Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("reading the minutes of voucher %d", voucherID), err)
	}
	minutes := make([]report.Minute, len(rows))
	for i, row := range rows {
		minutes[i] = report.Minute{VoucherID: voucherID, Start: row.StartTime.UTC(), Run: row.Run, Counts: row.counts()}
	}
	return minutes, nil
}

// counts returns the counts of each second, nil when they cannot be read.
func (r saleMinuteRow) counts() map[order.Answer]*report.Seconds {
	var stored minuteCounts
	if json.Unmarshal([]byte(r.Seconds), &stored) != nil {
		return nil
	}
	counts := make(map[order.Answer]*report.Seconds, len(stored))
	for answer, seconds := range stored {
		counts[answer] = new(report.Seconds)
		for second, n := range seconds {
			if second < 0 || second >= len(report.Seconds{}) {
				return nil
			}
			counts[answer][second] = n
		}
	}
	return counts
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

package installation

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

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

// PutMinutes is a timeline.Ledger. A statement whose caller has given up may run late, so no statement lowers a row's
// number of requests.
func (t *Tables) PutMinutes(ctx context.Context, minutes []timeline.Minute) error {
	rows := make([]saleMinuteRow, len(minutes))
	for i, m := range minutes {
		row, err := newSaleMinuteRow(m)
		if err != nil {
			return err
		}
		rows[i] = row
	}
	proposed := "VALUES(%s)"
	if t.db.Dialect() == sqlkit.SQLite {
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
	err := t.db.WriteRetry(ctx, func(tx *gorm.DB) error { return tx.Clauses(replace).Create(&rows).Error })
	return sqlkit.ReadError(fmt.Sprintf("storing %d minutes of sales", len(minutes)), err)
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

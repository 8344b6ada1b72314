package installation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

type refusedNoticeRow struct {
	Provider   string          `gorm:"column:provider;primaryKey"`
	Refusal    payment.Refusal `gorm:"column:refusal;primaryKey"`
	Notices    int64           `gorm:"column:notices"`
	Detail     string          `gorm:"column:detail"`
	PaymentID  string          `gorm:"column:payment_id"`
	Amount     int64           `gorm:"column:amount"`
	RefuseTime time.Time       `gorm:"column:refuse_time"`
}

// TableName implements gorm's schema.Tabler.
func (*refusedNoticeRow) TableName() string { return "tb_refused_notice" }

func (r *refusedNoticeRow) refused() payment.RefusedNotice {
	return payment.RefusedNotice{
		Provider: r.Provider, Refusal: r.Refusal, Count: r.Notices, Detail: r.Detail, PaymentID: r.PaymentID,
		Amount: r.Amount, At: r.RefuseTime,
	}
}

// AddRefusedNotices implements service.RefusedNotices. The rows' time is the ledger's. A transaction that is repeated
// after a lost answer counts twice.
func (t *Tables) AddRefusedNotices(ctx context.Context, refused []payment.RefusedNotice) error {
	add := "tb_refused_notice.notices + VALUES(notices)"
	if t.db.Dialect() == sqlkit.SQLite {
		add = "tb_refused_notice.notices + excluded.notices"
	}
	put := clause.OnConflict{
		Columns: []clause.Column{{Name: "provider"}, {Name: "refusal"}},
		DoUpdates: append(clause.Set{{Column: clause.Column{Name: "notices"}, Value: gorm.Expr(add)}},
			clause.AssignmentColumns([]string{"detail", "payment_id", "amount", "refuse_time"})...),
	}
	err := t.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		rows := sqlkit.Map(refused, func(r *payment.RefusedNotice) refusedNoticeRow {
			return refusedNoticeRow{r.Provider, r.Refusal, r.Count, r.Detail, r.PaymentID, r.Amount, now}
		})
		// In one order, so that instances do not wait for each other in a ring.
		slices.SortFunc(rows, func(a, b refusedNoticeRow) int {
			return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Refusal, b.Refusal))
		})
		return tx.Clauses(put).Create(&rows).Error
	})
	return sqlkit.ReadError(fmt.Sprintf("storing %d refused notices", len(refused)), err)
}

// RefusedNotices implements service.RefusedNotices.
func (t *Tables) RefusedNotices(ctx context.Context) ([]payment.RefusedNotice, error) {
	return sqlkit.List(t.db.Read(ctx).Order("refuse_time DESC, provider, refusal"), "reading refused notices",
		(*refusedNoticeRow).refused)
}

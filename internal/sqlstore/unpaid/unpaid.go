// Package unpaid counts, for each user, the orders that expired unpaid, of sales that have a cool-down.
package unpaid

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher/guards"
)

type row struct {
	UserID   int64     `gorm:"column:user_id;primaryKey;autoIncrement:false"`
	Expired  int64     `gorm:"column:expired"`
	LastTime time.Time `gorm:"column:last_time"`
	Number   int64     `gorm:"column:number"`
}

// TableName implements gorm's schema.Tabler.
func (row) TableName() string { return "tb_unpaid" }

// Count counts expired orders in the transaction that expires them. The transaction holds the expirer's fence, so these
// transactions commit one after the other, and the numbers of their rows rise. It deletes up to twice as many old rows
// as it adds.
func Count(tx *gorm.DB, dialect sqlkit.Dialect, expired []order.Order, now time.Time) error {
	counted, err := withCoolDown(tx, expired)
	if err != nil || len(counted) == 0 {
		return err
	}
	orders := make(map[int64]int64)
	for _, o := range expired {
		if counted[o.VoucherID] {
			orders[o.UserID]++
		}
	}
	last, err := deleteOld(tx, now, 2*len(orders))
	if err != nil {
		return err
	}
	// The number comes from the clock, so that numbers still rise after a failover that lost the last ones: instances
	// have seen those.
	number := max(last+1, now.UnixMilli())
	rows := make([]row, 0, len(orders))
	for _, user := range slices.Sorted(maps.Keys(orders)) {
		rows = append(rows, row{UserID: user, Expired: orders[user], LastTime: now, Number: number})
	}
	err = tx.Clauses(add(dialect, now)).CreateInBatches(rows, sqlkit.BatchRows).Error
	return sqlkit.Wrapf(err, "counting the expired orders of %d users", len(rows))
}

// add adds to the rows of users that have one; a count that is too old begins anew.
func add(dialect sqlkit.Dialect, now time.Time) clause.OnConflict {
	given := "excluded.expired"
	if dialect == sqlkit.MySQL {
		given = "VALUES(expired)"
	}
	count := "CASE WHEN tb_unpaid.last_time < ? THEN " + given + " ELSE tb_unpaid.expired + " + given + " END"
	return clause.OnConflict{
		Columns: []clause.Column{{Name: "user_id"}},
		// The order matters: MySQL assigns one column after the other, and the count depends on the previous time.
		DoUpdates: append(clause.Set{
			{Column: clause.Column{Name: "expired"}, Value: gorm.Expr(count, now.Add(-guards.CoolDownMemory))},
		},
			clause.AssignmentColumns([]string{"last_time", "number"})...),
	}
}

// deleteOld looks at the n rows with the lowest numbers and deletes those that no longer count. It returns the
// highest number.
func deleteOld(tx *gorm.DB, now time.Time, n int) (highest int64, err error) {
	var oldest, newest []row
	if err := tx.Order("number, user_id").Limit(n).Find(&oldest).Error; err != nil {
		return 0, fmt.Errorf("reading who counts no longer: %w", err)
	}
	if err := tx.Order("number DESC").Limit(1).Find(&newest).Error; err != nil {
		return 0, fmt.Errorf("reading the last number of expired orders: %w", err)
	}
	var old []int64
	for _, r := range oldest {
		if r.LastTime.Before(now.Add(-guards.CoolDownMemory)) {
			old = append(old, r.UserID)
		}
	}
	for part := range sqlkit.Chunks(old) {
		if err := tx.Where("user_id IN ?", part).Delete(&row{}).Error; err != nil {
			return 0, fmt.Errorf("deleting %d who count no longer: %w", len(part), err)
		}
	}
	for _, r := range newest {
		highest = r.Number
	}
	return highest, nil
}

// withCoolDown returns the orders' vouchers whose sales have a cool-down.
func withCoolDown(tx *gorm.DB, orders []order.Order) (map[int64]bool, error) {
	ids := sqlkit.Distinct(orders, func(o order.Order) int64 { return o.VoucherID })
	type guarded struct {
		ID     int64
		Guards string
	}
	with := make(map[int64]bool)
	for part := range sqlkit.Chunks(slices.Sorted(slices.Values(ids))) {
		var rows []guarded
		err := tx.Table("tb_voucher").Select("id", "guards").Where("id IN ? AND guards <> ''", part).Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("reading the guards of %d vouchers: %w", len(part), err)
		}
		for _, v := range rows {
			if s := guards.Parse(v.Guards); s != nil && s.CoolDown != nil {
				with[v.ID] = true
			}
		}
	}
	return with, nil
}

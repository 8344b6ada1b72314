package sqlstore

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher/guards"
)

type unpaidRow struct {
	UserID   int64     `gorm:"column:user_id;primaryKey;autoIncrement:false"`
	Expired  int64     `gorm:"column:expired"`
	LastTime time.Time `gorm:"column:last_time"`
	Number   int64     `gorm:"column:number"`
}

// TableName implements gorm's schema.Tabler.
func (unpaidRow) TableName() string { return "tb_unpaid" }

// countUnpaid counts, for each user, expired orders of sales that have a cool-down, in the transaction that expires
// them. The transaction holds the expirer's fence, so these transactions commit one after the other, and the numbers of
// their rows rise. It deletes up to twice as many old rows as it adds.
func (s *Store) countUnpaid(tx *gorm.DB, expired []orderRow, now time.Time) error {
	counted, err := withCoolDown(tx, expired)
	if err != nil || len(counted) == 0 {
		return err
	}
	orders := make(map[int64]int64)
	for _, row := range expired {
		if counted[row.VoucherID] {
			orders[row.UserID]++
		}
	}
	last, err := deleteOldUnpaid(tx, now, 2*len(orders))
	if err != nil {
		return err
	}
	// From the clock, so that numbers go on rising after a failover that lost the last ones, which instances have seen.
	number := max(last+1, now.UnixMilli())
	rows := make([]unpaidRow, 0, len(orders))
	for _, user := range slices.Sorted(maps.Keys(orders)) {
		rows = append(rows, unpaidRow{UserID: user, Expired: orders[user], LastTime: now, Number: number})
	}
	if err := tx.Clauses(s.addUnpaid(now)).CreateInBatches(rows, sqlkit.BatchRows).Error; err != nil {
		return fmt.Errorf("counting the expired orders of %d users: %w", len(rows), err)
	}
	return nil
}

// addUnpaid adds to the rows of users that have one; a count that is too old begins anew.
func (s *Store) addUnpaid(now time.Time) clause.OnConflict {
	given := "excluded.expired"
	if s.db.Dialect() == sqlkit.MySQL {
		given = "VALUES(expired)"
	}
	count := "CASE WHEN tb_unpaid.last_time < ? THEN " + given + " ELSE tb_unpaid.expired + " + given + " END"
	return clause.OnConflict{
		Columns: []clause.Column{{Name: "user_id"}},
		// In this order: MySQL assigns one after the other, and the count depends on the previous time.
		DoUpdates: append(clause.Set{
			{Column: clause.Column{Name: "expired"}, Value: gorm.Expr(count, now.Add(-guards.CoolDownMemory))},
		},
			clause.AssignmentColumns([]string{"last_time", "number"})...),
	}
}

// deleteOldUnpaid looks at the n rows with the lowest numbers and deletes those that no longer count. It returns the
// highest number.
func deleteOldUnpaid(tx *gorm.DB, now time.Time, n int) (highest int64, err error) {
	var oldest, newest []unpaidRow
	if err := tx.Order("number, user_id").Limit(n).Find(&oldest).Error; err != nil {
		return 0, fmt.Errorf("reading who counts no longer: %w", err)
	}
	if err := tx.Order("number DESC").Limit(1).Find(&newest).Error; err != nil {
		return 0, fmt.Errorf("reading the last number of expired orders: %w", err)
	}
	var old []int64
	for _, row := range oldest {
		if row.LastTime.Before(now.Add(-guards.CoolDownMemory)) {
			old = append(old, row.UserID)
		}
	}
	for part := range sqlkit.Chunks(old) {
		if err := tx.Where("user_id IN ?", part).Delete(&unpaidRow{}).Error; err != nil {
			return 0, fmt.Errorf("deleting %d who count no longer: %w", len(part), err)
		}
	}
	for _, row := range newest {
		highest = row.Number
	}
	return highest, nil
}

// withCoolDown returns the orders' vouchers whose sales have a cool-down.
func withCoolDown(tx *gorm.DB, orders []orderRow) (map[int64]bool, error) {
	ids := make(map[int64]bool)
	for _, row := range orders {
		ids[row.VoucherID] = true
	}
	with := make(map[int64]bool)
	for part := range sqlkit.Chunks(slices.Sorted(maps.Keys(ids))) {
		var rows []voucherRow
		if err := tx.Select("id", "guards").Where("id IN ? AND guards <> ''", part).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("reading the guards of %d vouchers: %w", len(part), err)
		}
		for _, row := range rows {
			if s := guards.Parse(row.Guards); s != nil && s.CoolDown != nil {
				with[row.ID] = true
			}
		}
	}
	return with, nil
}

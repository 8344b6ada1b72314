package sqlstore

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// limitedBuyerRow is written by each transaction that adds a live order of a limited ordinary voucher for this user.
type limitedBuyerRow struct {
	VoucherID int64 `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	UserID    int64 `gorm:"column:user_id;primaryKey;autoIncrement:false"`
	Writes    int64 `gorm:"column:writes"`
}

// TableName implements gorm's schema.Tabler.
func (limitedBuyerRow) TableName() string { return "tb_limited_buyer" }

// claimLimited returns *order.LimitError if the user has as many live orders of the voucher as one may have. Until
// the transaction ends, no other one can add one: its claim waits for the row that this one writes. The row is
// written and not just locked, because the nodes of a Galera cluster share no locks, and refuse to commit the second
// transaction that changed a row: so it is changed each time. What is counted are the orders themselves, so that
// nothing has to be kept in step when one is cancelled or refunded.
func claimLimited(tx *gorm.DB, v voucher.Voucher, userID int64) error {
	claim := clause.OnConflict{
		Columns:   []clause.Column{{Name: "voucher_id"}, {Name: "user_id"}},
		DoUpdates: clause.Assignments(map[string]any{"writes": gorm.Expr("writes + 1")}),
	}
	if err := tx.Clauses(claim).Create(&limitedBuyerRow{VoucherID: v.ID, UserID: userID, Writes: 1}).Error; err != nil {
		return fmt.Errorf("claiming one of %d orders of voucher %d: %w", v.PerUser, v.ID, err)
	}
	var found []order.Status
	// At READ COMMITTED this sees what was committed before the row was ours.
	if err := tx.Model(&orderRow{}).Where("user_id = ? AND voucher_id = ?", userID,
		v.ID).Pluck("status", &found).Error; err != nil {
		return fmt.Errorf("counting the orders of a user: %w", err)
	}
	live := int64(0)
	for _, status := range found {
		if status.Live() {
			live++
		}
	}
	if live >= v.PerUser {
		return &order.LimitError{PerUser: v.PerUser}
	}
	return nil
}

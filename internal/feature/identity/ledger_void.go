package identity

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

type voidRow struct {
	First     int64     `gorm:"column:first_user;primaryKey;autoIncrement:false"`
	Last      int64     `gorm:"column:last_user;primaryKey;autoIncrement:false"`
	Before    time.Time `gorm:"column:before_time"`
	WriteTime time.Time `gorm:"column:write_time"`
}

// TableName implements gorm's schema.Tabler.
func (voidRow) TableName() string { return "tb_session_void" }

// VoidAfter implements VoidLedger.
func (l *Ledger) VoidAfter(ctx context.Context, at time.Time, first int64, limit int) ([]Users, error) {
	at = at.UTC()
	after := l.db.Read(ctx).Where("write_time > ? OR (write_time = ? AND first_user > ?)", at, at, first).
		Order("write_time, first_user").Limit(limit)
	return sqlkit.List(after, "reading whose tokens are void", func(r *voidRow) Users {
		return Users{First: r.First, Last: r.Last, Before: r.Before, At: r.WriteTime}
	})
}

// Revoke makes the users' tokens that were signed in before now void, and returns the row that it has written.
func (l *Ledger) Revoke(ctx context.Context, first, last int64) (u Users, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
		u, err = l.revoke(tx, first, last)
		return err
	})
	return u, sqlkit.ReadError("making tokens void", err)
}

// RevokeAll makes all sessions void: a restored ledger has forgotten which ones were. It is a sqlkit.Hook's Restored.
func (l *Ledger) RevokeAll(tx *gorm.DB) error {
	_, err := l.revoke(tx, voucher.FirstAccount, voucher.LastAccount)
	return err
}

func (l *Ledger) revoke(tx *gorm.DB, first, last int64) (Users, error) {
	now, err := l.db.LedgerTime(tx)
	if err != nil {
		return Users{}, err
	}
	u := Users{First: first, Last: last, Before: now.Truncate(time.Second), At: now}
	row := voidRow{first, last, u.Before, now}
	return u, tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "first_user"}, {Name: "last_user"}},
		DoUpdates: clause.AssignmentColumns([]string{"before_time", "write_time"}),
	}).Create(&row).Error
}

// ForgetVoid implements VoidLedger. A row that is written again meanwhile stays.
func (l *Ledger) ForgetVoid(ctx context.Context, age time.Duration, limit int) error {
	err := l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		var old []voidRow
		err = tx.Where("write_time < ? AND first_user >= ? AND last_user <= ?", now.Add(-age),
			voucher.FirstAccount, voucher.LastAccount).Order("write_time").Limit(limit).Find(&old).Error
		if err != nil {
			return err
		}
		for _, r := range old {
			err := tx.Where("first_user = ? AND last_user = ? AND write_time = ?", r.First, r.Last, r.WriteTime).
				Delete(&voidRow{}).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
	return sqlkit.ReadError("forgetting whose tokens were void", err)
}

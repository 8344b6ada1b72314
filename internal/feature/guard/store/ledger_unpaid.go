package store

import (
	"context"
	"time"

	"seckill/internal/feature/guard/cooldown"
	"seckill/internal/sqlstore/sqlkit"
)

type unpaidRow struct {
	UserID   int64     `gorm:"column:user_id;primaryKey;autoIncrement:false"`
	Expired  int64     `gorm:"column:expired"`
	LastTime time.Time `gorm:"column:last_time"`
	Number   int64     `gorm:"column:number"`
}

// TableName implements gorm's schema.Tabler.
func (unpaidRow) TableName() string { return "tb_unpaid" }

// UnpaidAfter implements cooldown.ReadUnpaid.
func (l *Ledger) UnpaidAfter(
	ctx context.Context, after cooldown.Cursor, limit int,
) ([]cooldown.Unpaid, cooldown.Cursor, error) {
	var rows []unpaidRow
	err := l.db.Read(ctx).Where("number > ? OR number = ? AND user_id > ?", after.Number, after.Number, after.UserID).
		Order("number, user_id").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, after, sqlkit.ReadError("reading whose orders expired", err)
	}
	if len(rows) == 0 {
		return nil, after, nil
	}
	now, err := l.db.LedgerTime(l.db.Read(ctx))
	if err != nil {
		return nil, after, sqlkit.ReadError("reading the clock", err)
	}
	users := make([]cooldown.Unpaid, len(rows))
	for i, row := range rows {
		users[i] = cooldown.Unpaid{UserID: row.UserID, Expired: row.Expired, Age: now.Sub(row.LastTime)}
		after = cooldown.Cursor{Number: row.Number, UserID: row.UserID}
	}
	return users, after, nil
}

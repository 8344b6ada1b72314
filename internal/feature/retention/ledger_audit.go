package retention

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/sqlstore/sqlkit"
)

// onSetting names the setting that is there once no version 1.0 lives, and none can start any more.
const onSetting = "retention_on"

// isOn reports whether purging and forgetting were switched on.
func (l *Ledger) isOn(ctx context.Context) (bool, error) {
	var n int64
	err := l.db.Read(ctx).Model(&sqlkit.SettingRow{}).Where("name = ?", onSetting).Count(&n).Error
	return n > 0, sqlkit.ReadError("reading whether purges are switched on", err)
}

// noteOn notes that purging and forgetting are switched on.
func (l *Ledger) noteOn(ctx context.Context) error {
	err := l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		return tx.Clauses(clause.OnConflict{DoNothing: true}).
			Create(&sqlkit.SettingRow{Name: onSetting, Value: []byte("1"), CreateTime: now}).Error
	})
	return sqlkit.ReadError("noting that purges are switched on", err)
}

// ForgetEntries deletes up to n entries of the audit trail that are from before a time, under the token of the job's
// lock. They are read by their ids, which rise with time.
func (l *Ledger) ForgetEntries(ctx context.Context, token int64, before time.Time, n int) (gone int, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		if err := sqlkit.RaiseFence(tx, purgerJob, token); err != nil {
			return err
		}
		var oldest []struct {
			ID         int64
			CreateTime time.Time
		}
		err := tx.Table("tb_audit").Select("id", "create_time").Order("id").Limit(n).Find(&oldest).Error
		if err != nil {
			return err
		}
		var ids []int64
		for _, e := range oldest {
			if e.CreateTime.Before(before) {
				ids = append(ids, e.ID)
			}
		}
		gone = len(ids)
		return deleteBy(tx, "tb_audit", "id", ids)
	})
	return gone, sqlkit.ReadError("deleting old entries of the audit trail", err)
}

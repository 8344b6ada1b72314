package installation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
)

const idKeySetting = "order_id_key"

// IDKey returns the key that hides the day's count in order ids. The first caller makes it, and it stays the same for
// every instance: ids made with two keys could collide.
func (t *Tables) IDKey(ctx context.Context) ([16]byte, error) {
	var key [16]byte
	err := t.loadSetting(ctx, idKeySetting, key[:])
	if !errors.Is(err, gorm.ErrRecordNotFound) {
		return key, err
	}
	var fresh [16]byte
	_, _ = rand.Read(fresh[:]) // it never fails: without randomness the program ends
	// If several instances start at once on a Galera cluster, all but one get a deadlock here, and then find that one's
	// key.
	err = t.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := t.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		return tx.Create(&sqlkit.SettingRow{Name: idKeySetting, Value: fresh[:], CreateTime: now}).Error
	})
	if err != nil && !sqlkit.IsDuplicate(err) { // another instance was first: its key is the key
		return key, fmt.Errorf("storing setting %s: %w", idKeySetting, err)
	}
	err = t.loadSetting(ctx, idKeySetting, key[:])
	return key, err
}

// loadSetting fills value, or returns gorm.ErrRecordNotFound. A value of another length is an error: using a part of
// it would go unnoticed.
func (t *Tables) loadSetting(ctx context.Context, name string, value []byte) error {
	var row sqlkit.SettingRow
	if err := t.db.Read(ctx).Where("name = ?", name).Take(&row).Error; err != nil {
		return sqlkit.ReadError("reading setting "+name, err)
	}
	if len(row.Value) != len(value) {
		return fmt.Errorf("setting %s has %d bytes instead of %d", name, len(row.Value), len(value))
	}
	copy(value, row.Value)
	return nil
}

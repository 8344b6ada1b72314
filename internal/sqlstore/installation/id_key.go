package installation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
)

const idKeySetting = "order_id_key"

// IDKey returns the key that hides the day's count in order ids. The first caller makes it, and it stays the same for
// every instance: ids made with two keys could collide.
func (t *Tables) IDKey(ctx context.Context) (key [16]byte, err error) {
	_, _ = rand.Read(key[:]) // it never fails: without randomness the program ends
	err = t.firstSetting(ctx, idKeySetting, key[:])
	return key, err
}

// firstSetting stores value under name, or overwrites value with what is stored there.
func (t *Tables) firstSetting(ctx context.Context, name string, value []byte) error {
	err := t.loadSetting(ctx, name, value)
	if !errors.Is(err, gorm.ErrRecordNotFound) {
		return err
	}
	// If several instances start at once on a Galera cluster, all but one get a deadlock here, and then find that one's
	// value.
	err = t.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		return tx.Create(&sqlkit.SettingRow{Name: name, Value: value, CreateTime: now}).Error
	})
	if err != nil && !sqlkit.IsDuplicate(err) { // another instance was first: its value is the value
		return fmt.Errorf("storing setting %s: %w", name, err)
	}
	return sqlkit.AwaitRow(ctx, func() (bool, error) {
		err := t.loadSetting(ctx, name, value)
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return false, nil
		}
		return true, err
	})
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

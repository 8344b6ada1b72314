package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"time"

	"gorm.io/gorm"

	"seckill/internal/guard/keys"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// guardSaltSetting begins the names of the salts of guards; the id follows, in five digits, so that names sort as ids do.
const guardSaltSetting = "guard_salt_"

// saltKept is for how long a salt stays after its successor: longer than any ticket lives.
const saltKept = 3 * 24 * time.Hour

// ErrSaltsExhausted says that tickets have room for no more ids of salts.
var ErrSaltsExhausted = errors.New("no more salts: a ticket has room for ids to 65535")

// GuardSalts implements keys.Salts: it makes the first one, which is used at once.
func (s *Store) GuardSalts(ctx context.Context) ([]keys.Salt, error) {
	salts, err := guardSalts(s.db.Read(ctx))
	if err != nil {
		return nil, sqlkit.ReadError("reading the salts of guards", err)
	}
	if len(salts) > 0 {
		return salts, nil
	}
	err = s.db.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
		if salts, err = guardSalts(tx); err == nil && len(salts) == 0 {
			salts, err = s.addGuardSalt(tx, 0)
		}
		return err
	})
	if err != nil {
		return nil, sqlkit.ReadError("reading the salts of guards", err)
	}
	return salts, nil
}

// RotateGuardSalt stores another salt and removes those that no ticket can name any more. All instances know it before its first
// use, a minute later. It returns its id, or ErrSaltsExhausted.
func (s *Store) RotateGuardSalt(ctx context.Context) (id uint16, err error) {
	err = s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		salts, err := guardSalts(tx)
		if err != nil {
			return err
		}
		next := 0
		if len(salts) > 0 {
			next = int(salts[len(salts)-1].ID) + 1
		}
		if next > math.MaxUint16 {
			return ErrSaltsExhausted
		}
		if salts, err = s.addGuardSalt(tx, next); err != nil {
			return err
		}
		id = uint16(next)
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if err := removeOldSalts(tx, salts, now); err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, voucher.Author{}, sqlkit.AuditRow{Action: voucher.Rotated, Changes: []voucher.FieldChange{
			{Field: "guardKey", From: fmt.Sprint(next - 1), To: fmt.Sprint(next)},
		}})
	})
	if err != nil {
		return 0, sqlkit.ReadError("rotating the salt of guards", err)
	}
	return id, nil
}

// guardSalts reads the salts, in the order of their ids.
func guardSalts(tx *gorm.DB) ([]keys.Salt, error) {
	var rows []sqlkit.SettingRow
	if err := tx.Where("name LIKE ?", guardSaltSetting+"%").Order("name").Find(&rows).Error; err != nil {
		return nil, err
	}
	salts := make([]keys.Salt, len(rows))
	for i, row := range rows {
		if _, err := fmt.Sscanf(row.Name, guardSaltSetting+"%05d", &salts[i].ID); err != nil {
			return nil, fmt.Errorf("setting %s names no salt of guards, which are %s and five digits", row.Name, guardSaltSetting)
		}
		if len(row.Value) != keys.Bytes {
			return nil, fmt.Errorf("setting %s has %d bytes instead of %d", row.Name, len(row.Value), keys.Bytes)
		}
		copy(salts[i].Value[:], row.Value)
		salts[i].UsedFrom = row.CreateTime
		if i > 0 || salts[i].ID > 0 {
			salts[i].UsedFrom = row.CreateTime.Add(keys.RotationLead)
		}
	}
	return salts, nil
}

// addGuardSalt stores the salt with the id, unless another transaction is first, and returns all salts.
func (s *Store) addGuardSalt(tx *gorm.DB, id int) ([]keys.Salt, error) {
	var value [keys.Bytes]byte
	_, _ = rand.Read(value[:]) // it never fails: without randomness the program ends
	now, err := s.db.LedgerTime(tx)
	if err != nil {
		return nil, err
	}
	err = tx.Create(&sqlkit.SettingRow{Name: fmt.Sprintf(guardSaltSetting+"%05d", id), Value: value[:], CreateTime: now}).Error
	if err != nil && !sqlkit.IsDuplicate(err) { // the statement changed nothing, and the transaction goes on
		return nil, fmt.Errorf("storing a salt of guards: %w", err)
	}
	return guardSalts(tx)
}

// removeOldSalts removes the salts whose successor has been in use for long. The newest two always stay.
func removeOldSalts(tx *gorm.DB, salts []keys.Salt, now time.Time) error {
	for i := range max(0, len(salts)-2) {
		if now.Sub(salts[i+1].UsedFrom) < saltKept {
			continue
		}
		name := fmt.Sprintf(guardSaltSetting+"%05d", salts[i].ID)
		if err := tx.Where("name = ?", name).Delete(&sqlkit.SettingRow{}).Error; err != nil {
			return fmt.Errorf("removing setting %s: %w", name, err)
		}
	}
	return nil
}

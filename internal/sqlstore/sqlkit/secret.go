package sqlkit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/voucher"
)

// ErrSecretSpoilt is the error for a row of tb_setting that should be a secret and cannot be read.
var ErrSecretSpoilt = errors.New("a row of tb_setting is spoilt")

// Secrets are rows of tb_setting with random secrets, each named by a prefix and an id. All ids have the same number
// of digits, so that names sort as ids do.
type Secrets struct {
	Prefix        string
	Digits, MaxID int
	Full          error // the error when all ids are used
}

// Secret is one secret of Secrets.
type Secret struct {
	ID      int
	Value   [sha256.Size]byte // as wide as the hash that it keys
	Created time.Time
}

// Name returns the row's name.
func (s Secrets) Name(id int) string { return fmt.Sprintf("%s%0*d", s.Prefix, s.Digits, id) }

// Read returns all secrets in the order of their ids, or ErrSecretSpoilt.
func (s Secrets) Read(tx *gorm.DB) ([]Secret, error) {
	var rows []SettingRow
	if err := tx.Where("name LIKE ?", s.Prefix+"%").Order("name").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("reading the settings %s: %w", s.Prefix, err)
	}
	secrets := make([]Secret, len(rows))
	for i, row := range rows {
		id, err := strconv.Atoi(strings.TrimPrefix(row.Name, s.Prefix))
		if err != nil || id < 0 || id > s.MaxID || row.Name != s.Name(id) {
			return nil, fmt.Errorf("%w: its name is %s; allowed are %s to %s",
				ErrSecretSpoilt, row.Name, s.Name(0), s.Name(s.MaxID))
		}
		if len(row.Value) != sha256.Size {
			return nil, fmt.Errorf("%w: setting %s has %d bytes instead of %d",
				ErrSecretSpoilt, row.Name, len(row.Value), sha256.Size)
		}
		secrets[i] = Secret{ID: id, Value: [sha256.Size]byte(row.Value), Created: row.CreateTime}
	}
	return secrets, nil
}

// Secrets returns all secrets in the order of their ids. If there is none, it makes the first. Error: ErrSecretSpoilt.
func (d *DB) Secrets(ctx context.Context, of Secrets) (all []Secret, err error) {
	if all, err = of.Read(d.Read(ctx)); err != nil || len(all) > 0 {
		return all, err
	}
	err = d.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
		if all, err = of.Read(tx); err == nil && len(all) == 0 {
			all, err = d.addSecret(tx, of, 0)
		}
		return err
	})
	return all, err
}

// RotateSecret makes the secret after the last one, and returns its id, or the error of.Full. It adds an entry with the
// field to the audit trail. In the same transaction, it calls also with all secrets and the ledger's time.
func (d *DB) RotateSecret(
	ctx context.Context, of Secrets, field string, also func(tx *gorm.DB, all []Secret, now time.Time) error,
) (id int, err error) {
	err = d.WriteRetry(ctx, func(tx *gorm.DB) error {
		all, err := of.Read(tx)
		if err != nil {
			return err
		}
		id = 0
		if len(all) > 0 {
			id = all[len(all)-1].ID + 1
		}
		if id > of.MaxID {
			return of.Full
		}
		if all, err = d.addSecret(tx, of, id); err != nil {
			return err
		}
		now, err := d.LedgerTime(tx)
		if err != nil {
			return err
		}
		if err := also(tx, all, now); err != nil {
			return err
		}
		return WriteAudit(tx, now, voucher.Author{}, AuditRow{
			Action:  voucher.Rotated,
			Changes: []voucher.FieldChange{{Field: field, From: fmt.Sprint(id - 1), To: fmt.Sprint(id)}},
		})
	})
	return id, err
}

// addSecret makes the secret with the id, unless another transaction was first, and returns all secrets.
func (d *DB) addSecret(tx *gorm.DB, of Secrets, id int) ([]Secret, error) {
	var value [sha256.Size]byte
	_, _ = rand.Read(value[:]) // it never fails: without randomness the program ends
	now, err := d.LedgerTime(tx)
	if err != nil {
		return nil, err
	}
	err = tx.Create(&SettingRow{Name: of.Name(id), Value: value[:], CreateTime: now}).Error
	if err != nil && !IsDuplicate(err) { // the statement changed nothing, and the transaction goes on
		return nil, fmt.Errorf("storing the setting %s: %w", of.Name(id), err)
	}
	var all []Secret
	err = AwaitRow(tx.Statement.Context, func() (bool, error) {
		all, err = of.Read(tx)
		return slices.ContainsFunc(all, func(s Secret) bool { return s.ID == id }), err
	})
	return all, err
}

// SettingRow is a value that all instances share, such as a key.
type SettingRow struct {
	Name       string    `gorm:"column:name;primaryKey"`
	Value      []byte    `gorm:"column:value"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (SettingRow) TableName() string { return "tb_setting" }

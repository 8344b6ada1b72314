package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gorm.io/gorm"

	"seckill/internal/feature/guard/keys"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Ledger is the guards' part of the database: the salts of their keys, and the users whose orders expired unpaid.
type Ledger struct{ db *sqlkit.DB }

// NewLedger returns the guards' part of a database.
func NewLedger(db *sqlkit.DB) *Ledger { return &Ledger{db} }

// guardSaltSettings names the settings that hold the guards' salts.
func guardSaltSettings() sqlkit.Secrets {
	return sqlkit.Secrets{Prefix: "guard_salt_", Digits: 5, MaxID: math.MaxUint16}
}

// saltKept is how long a salt stays after its successor was made: longer than any ticket is valid.
const saltKept = 3 * 24 * time.Hour

// ErrSaltsExhausted says that all ids of salts that fit into a ticket are used.
var ErrSaltsExhausted = errors.New("no more salts: a ticket has room for ids to 65535")

// GuardSalts returns all salts in the order of their ids. It makes the first salt, which is usable at once.
func (l *Ledger) GuardSalts(ctx context.Context) ([]keys.Salt, error) {
	salts, err := guardSalts(l.db.Read(ctx))
	if err != nil {
		return nil, sqlkit.ReadError("reading the salts of guards", err)
	}
	if len(salts) > 0 {
		return salts, nil
	}
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
		if salts, err = guardSalts(tx); err == nil && len(salts) == 0 {
			salts, err = l.addGuardSalt(tx, 0)
		}
		return err
	})
	if err != nil {
		return nil, sqlkit.ReadError("reading the salts of guards", err)
	}
	return salts, nil
}

// RotateGuardSalt stores another salt, removes those that no valid ticket can name, and returns the new id, or
// ErrSaltsExhausted. The salt is used a minute later, when all instances have read it.
func (l *Ledger) RotateGuardSalt(ctx context.Context) (id uint16, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
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
		if salts, err = l.addGuardSalt(tx, next); err != nil {
			return err
		}
		id = uint16(next)
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if err := removeOldSalts(tx, salts, now); err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, voucher.Author{},
			sqlkit.AuditRow{Action: voucher.Rotated, Changes: []voucher.FieldChange{
				{Field: "guardKey", From: fmt.Sprint(next - 1), To: fmt.Sprint(next)},
			}})
	})
	if err != nil {
		return 0, sqlkit.ReadError("rotating the salt of guards", err)
	}
	return id, nil
}

// guardSalts reads the salts, sorted by id.
func guardSalts(tx *gorm.DB) ([]keys.Salt, error) { return saltsOf(guardSaltSettings().Read(tx)) }

// addGuardSalt stores the salt with the id, unless another transaction has stored one first, and returns all salts.
func (l *Ledger) addGuardSalt(tx *gorm.DB, id int) ([]keys.Salt, error) {
	return saltsOf(l.db.AddSecret(tx, guardSaltSettings(), id))
}

// saltsOf makes salts of the secrets that were read. The first salt of all is usable at once, later ones after
// RotationLead.
func saltsOf(secrets []sqlkit.Secret, err error) ([]keys.Salt, error) {
	salts := make([]keys.Salt, len(secrets))
	for i, secret := range secrets {
		salts[i] = keys.Salt{ID: uint16(secret.ID), Value: secret.Value, UsedFrom: secret.Created}
		if i > 0 || secret.ID > 0 {
			salts[i].UsedFrom = secret.Created.Add(keys.RotationLead)
		}
	}
	return salts, err
}

// removeOldSalts removes the salts whose successor has been in use for saltKept. The newest two always stay.
func removeOldSalts(tx *gorm.DB, salts []keys.Salt, now time.Time) error {
	for i := range max(0, len(salts)-2) {
		if now.Sub(salts[i+1].UsedFrom) < saltKept {
			continue
		}
		name := guardSaltSettings().Name(int(salts[i].ID))
		if err := tx.Where("name = ?", name).Delete(&sqlkit.SettingRow{}).Error; err != nil {
			return fmt.Errorf("removing setting %s: %w", name, err)
		}
	}
	return nil
}

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
)

// Ledger is the guards' part of the database: the salts of their keys, and the users whose orders expired unpaid.
type Ledger struct{ db *sqlkit.DB }

// NewLedger returns the guards' part of a database.
func NewLedger(db *sqlkit.DB) *Ledger { return &Ledger{db} }

// saltKept is how long a salt stays after its successor was made: longer than any ticket is valid.
const saltKept = 3 * 24 * time.Hour

// ErrSaltsExhausted is the error when all ids of salts that fit into a ticket are used.
var ErrSaltsExhausted = errors.New("no more salts: a ticket has room for ids to 65535")

// guardSalts are the settings that hold the guards' salts.
func guardSalts() sqlkit.Secrets {
	return sqlkit.Secrets{Prefix: "guard_salt_", Digits: 5, MaxID: math.MaxUint16, Full: ErrSaltsExhausted}
}

// GuardSalts returns all salts in the order of their ids. If there is none, it makes the first salt, which is usable
// at once.
func (l *Ledger) GuardSalts(ctx context.Context) ([]keys.Salt, error) {
	secrets, err := l.db.Secrets(ctx, guardSalts())
	return saltsOf(secrets), sqlkit.ReadError("reading the salts of guards", err)
}

// RotateGuardSalt stores another salt, removes those that no valid ticket can name, and returns the new id, or
// ErrSaltsExhausted. The salt is used a minute later, when all instances have read it.
func (l *Ledger) RotateGuardSalt(ctx context.Context) (id uint16, err error) {
	next, err := l.db.RotateSecret(ctx, guardSalts(), "guardKey",
		func(tx *gorm.DB, all []sqlkit.Secret, now time.Time) error {
			return removeOldSalts(tx, saltsOf(all), now)
		})
	return uint16(next), sqlkit.ReadError("rotating the salt of guards", err)
}

// saltsOf converts stored secrets to salts. The very first salt is usable at once, later ones after RotationLead.
func saltsOf(secrets []sqlkit.Secret) []keys.Salt {
	salts := make([]keys.Salt, len(secrets))
	for i, secret := range secrets {
		salts[i] = keys.Salt{ID: uint16(secret.ID), Value: secret.Value, UsedFrom: secret.Created}
		if i > 0 || secret.ID > 0 {
			salts[i].UsedFrom = secret.Created.Add(keys.RotationLead)
		}
	}
	return salts
}

// removeOldSalts removes the salts whose successor has been in use for saltKept. The newest two always stay.
func removeOldSalts(tx *gorm.DB, salts []keys.Salt, now time.Time) error {
	for i := range max(0, len(salts)-2) {
		if now.Sub(salts[i+1].UsedFrom) < saltKept {
			continue
		}
		name := guardSalts().Name(int(salts[i].ID))
		if err := tx.Where("name = ?", name).Delete(&sqlkit.SettingRow{}).Error; err != nil {
			return fmt.Errorf("removing setting %s: %w", name, err)
		}
	}
	return nil
}

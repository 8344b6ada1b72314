package redemption

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
)

// codeKeys are the settings that hold the keys of codes.
func codeKeys() sqlkit.Secrets {
	return sqlkit.Secrets{Prefix: "coupon_key_", Digits: 2, MaxID: MaxKeyID, Full: ErrKeysExhausted}
}

var (
	// ErrKeysExhausted is the error when all ids of keys are used.
	ErrKeysExhausted = errors.New("no more keys: a code has room for 32")
	// ErrKeySpoilt is the error when no codes are made, because the row of a key in tb_setting cannot be read. Orders
	// are paid without codes, and get them when they are read after the row is repaired.
	ErrKeySpoilt = errors.New("no codes are made")
)

// keyInUse has the key of new codes, or why there is none. It is read at the start and by loadKeys, so that no
// transaction reads it while others wait for its locks.
type keyInUse struct {
	key  Key
	none error
	from time.Time // when reading it began
}

// learn stores the key, unless another caller began to read it later: a till's request reads it as well.
func (l *Ledger) learn(read *keyInUse) {
	for {
		last := l.key.Load()
		if last != nil && read.from.Before(last.from) || l.key.CompareAndSwap(last, read) {
			return
		}
	}
}

// currentKey returns the key for new codes, or ErrKeySpoilt.
func (l *Ledger) currentKey() (Key, error) {
	if c := l.key.Load(); c != nil {
		return c.key, c.none
	}
	return Key{}, fmt.Errorf("%w: the keys were not read yet", ErrKeySpoilt)
}

// begin reads the keys, so that the first key is made at the first start, not by the first payment. If a key cannot be
// read, it returns no error: coupons cannot be redeemed then, but sales go on.
func (l *Ledger) begin(ctx context.Context) error {
	if _, err := l.CouponKeys(ctx); err != nil && !errors.Is(err, ErrKeySpoilt) {
		return fmt.Errorf("the keys of codes: %w", err)
	}
	return nil
}

// CouponKeys implements Coupons. From then on new codes are made with the last key. If a key cannot be read, orders are
// paid without codes.
func (l *Ledger) CouponKeys(ctx context.Context) (keys []Key, err error) {
	from := time.Now()
	secrets, err := l.db.Secrets(ctx, codeKeys())
	if errors.Is(err, sqlkit.ErrSecretSpoilt) {
		err = fmt.Errorf("%w: %w", ErrKeySpoilt, err)
		l.db.Log().ErrorContext(ctx,
			"orders are paid without their codes until a row in tb_setting is mended", "error", err)
		l.learn(&keyInUse{none: err, from: from})
	}
	if err != nil {
		return nil, sqlkit.ReadError("reading the keys of codes", err)
	}
	for _, secret := range secrets {
		keys = append(keys, Key{ID: secret.ID, Secret: secret.Value})
	}
	l.learn(&keyInUse{key: keys[len(keys)-1], from: from})
	return keys, nil
}

// RotateCouponKey adds a key, with which all instances make new codes within a minute. Codes of older keys stay valid.
// It returns the key's id, or ErrKeysExhausted.
func (l *Ledger) RotateCouponKey(ctx context.Context) (id int, err error) {
	id, err = l.db.RotateSecret(ctx, codeKeys(), "couponKey",
		func(_ *gorm.DB, all []sqlkit.Secret, _ time.Time) error {
			if last := all[len(all)-1].ID; len(all) != last+1 {
				return fmt.Errorf("%d keys of codes, whose ids do not go from 0 to %d", len(all), last)
			}
			return nil
		})
	if errors.Is(err, sqlkit.ErrSecretSpoilt) {
		err = fmt.Errorf("%w: %w", ErrKeySpoilt, err)
	}
	return id, sqlkit.ReadError("rotating the key of codes", err)
}

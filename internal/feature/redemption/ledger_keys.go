package redemption

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// codeKeySettings are the keys of codes.
func codeKeySettings() sqlkit.Secrets {
	return sqlkit.Secrets{Prefix: "coupon_key_", Digits: 2, MaxID: MaxKeyID}
}

var (
	// ErrKeysExhausted says that all ids of keys are used.
	ErrKeysExhausted = errors.New("no more keys: a code has room for 32")
	// ErrKeySpoilt says that a row in tb_setting should be a key and cannot be read, so that no codes are made. Orders
	// are paid without codes, and get them when they are read after the row is repaired.
	ErrKeySpoilt = errors.New("no codes are made")
)

// codeKey caches the key for new codes, so that no transaction reads it while others wait for the transaction's locks.
// It is read at the start and by KeyLoader.
type codeKey struct {
	now func() time.Time

	mu   sync.Mutex
	key  Key
	none error     // why there is none; nil once there is one
	from time.Time // when it was read
}

func newCodeKey(now func() time.Time) *codeKey {
	return &codeKey{now: now, none: fmt.Errorf("%w: the keys were not read yet", ErrKeySpoilt)}
}

// current returns the key for new codes, or ErrKeySpoilt.
func (c *codeKey) current() (Key, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.key, c.none
}

// learn stores the key, or why there is none. It was read after the time from.
func (c *codeKey) learn(key Key, none error, from time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.Before(c.from) && !c.from.After(c.now()) {
		return // others have read it since
	}
	c.key, c.none, c.from = key, none, from
}

// begin reads the keys, so that the first start makes the first key, and not the first payment. A key that cannot be
// read is not an error: coupons cannot be redeemed then, but sales go on.
func (l *Ledger) begin(ctx context.Context) error {
	if _, err := l.CouponKeys(ctx); err != nil && !errors.Is(err, ErrKeySpoilt) {
		return fmt.Errorf("the keys of codes: %w", err)
	}
	return nil
}

// CouponKeys implements Coupons. From then on new codes are made with the last of the keys. If a key cannot be read,
// orders are paid without codes.
func (l *Ledger) CouponKeys(ctx context.Context) (keys []Key, err error) {
	from := l.db.Now()
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
		if keys, err = couponKeys(tx); err == nil && len(keys) == 0 {
			keys, err = l.addCouponKey(tx, 0)
		}
		return err
	})
	if errors.Is(err, ErrKeySpoilt) {
		l.db.Log().ErrorContext(ctx,
			"orders are paid without their codes until a row in tb_setting is mended", "error", err)
		l.key.learn(Key{}, err, from)
	}
	if err != nil {
		return nil, sqlkit.ReadError("reading the keys of codes", err)
	}
	l.key.learn(keys[len(keys)-1], nil, from)
	return keys, nil
}

// RotateCouponKey adds a key, with which all instances make new codes within a minute. Codes of older keys stay valid.
// It returns the key's id, or ErrKeysExhausted.
func (l *Ledger) RotateCouponKey(ctx context.Context) (id int, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		keys, err := couponKeys(tx)
		if err != nil {
			return err
		}
		if id = len(keys); id > MaxKeyID {
			return ErrKeysExhausted
		}
		if keys, err = l.addCouponKey(tx, id); err != nil {
			return err
		}
		if len(keys) != id+1 {
			return fmt.Errorf("%d keys of codes, whose ids do not go from 0 to %d", len(keys), id)
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, voucher.Author{},
			sqlkit.AuditRow{Action: voucher.Rotated, Changes: []voucher.FieldChange{
				{Field: "couponKey", From: fmt.Sprint(id - 1), To: fmt.Sprint(id)},
			}})
	})
	if err != nil {
		return 0, sqlkit.ReadError("rotating the key of codes", err)
	}
	return id, nil
}

// couponKeys reads the keys, in the order of their ids.
func couponKeys(tx *gorm.DB) ([]Key, error) { return keysOf(codeKeySettings().Read(tx)) }

// addCouponKey makes the key with the id, unless another transaction is first, and returns all keys.
func (l *Ledger) addCouponKey(tx *gorm.DB, id int) ([]Key, error) {
	return keysOf(l.db.AddSecret(tx, codeKeySettings(), id))
}

// keysOf makes keys of the secrets that were read, or returns ErrKeySpoilt if one could not be.
func keysOf(secrets []sqlkit.Secret, err error) ([]Key, error) {
	if errors.Is(err, sqlkit.ErrSecretSpoilt) {
		return nil, fmt.Errorf("%w: %w", ErrKeySpoilt, err)
	}
	keys := make([]Key, len(secrets))
	for i, secret := range secrets {
		keys[i] = Key{ID: secret.ID, Secret: secret.Value}
	}
	return keys, err
}

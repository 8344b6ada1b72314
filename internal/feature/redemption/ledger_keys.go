package redemption

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

// codeKey remembers the key of new codes, so that no transaction reads the key while others wait for its locks. The key
// is read at the start and by loadKeys.
type codeKey struct {
	now func() time.Time

	mu   sync.Mutex
	key  Key
	none error     // why there is no key; nil if there is one
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

// learn stores the key, or the reason why there is none, as read after the time from.
func (c *codeKey) learn(key Key, none error, from time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.Before(c.from) && !c.from.After(c.now()) {
		return // another caller has read it later
	}
	c.key, c.none, c.from = key, none, from
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
	from := l.db.Clock()
	secrets, err := l.db.Secrets(ctx, codeKeys())
	if errors.Is(err, sqlkit.ErrSecretSpoilt) {
		err = fmt.Errorf("%w: %w", ErrKeySpoilt, err)
		l.db.Log().ErrorContext(ctx,
			"orders are paid without their codes until a row in tb_setting is mended", "error", err)
		l.key.learn(Key{}, err, from)
	}
	if err != nil {
		return nil, sqlkit.ReadError("reading the keys of codes", err)
	}
	for _, secret := range secrets {
		keys = append(keys, Key{ID: secret.ID, Secret: secret.Value})
	}
	l.key.learn(keys[len(keys)-1], nil, from)
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
	if err != nil {
		return 0, sqlkit.ReadError("rotating the key of codes", err)
	}
	return id, nil
}

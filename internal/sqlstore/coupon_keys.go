package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order/redemption"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// couponKeySettings are the keys of codes.
func couponKeySettings() sqlkit.Secrets {
	return sqlkit.Secrets{Prefix: "coupon_key_", Digits: 2, MaxID: redemption.MaxKeyID}
}

var (
	// ErrKeysExhausted says that codes have room for no more keys.
	ErrKeysExhausted = errors.New("no more keys: a code has room for 32")
	// ErrKeySpoilt says that a row in tb_setting is none of a key, so that no codes are made: orders are paid without
	// them, and have them when they are read after it was mended.
	ErrKeySpoilt = errors.New("no codes are made")
)

// couponKey remembers the key of new codes, so that no transaction reads it while others wait behind its rows. It is
// read at the start and by redemption.KeyLoader.
type couponKey struct {
	now func() time.Time

	mu   sync.Mutex
	key  redemption.Key
	none error     // why there is none; nil once there is one
	from time.Time // when it was read
}

func newCouponKey(now func() time.Time) *couponKey {
	return &couponKey{now: now, none: fmt.Errorf("%w: the keys were not read yet", ErrKeySpoilt)}
}

// current returns the key for new codes, or ErrKeySpoilt.
func (c *couponKey) current() (redemption.Key, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.key, c.none
}

// learn notes the key, or why there is none, as it was read after the given time.
func (c *couponKey) learn(key redemption.Key, none error, from time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.Before(c.from) && !c.from.After(c.now()) {
		return // others have read it since
	}
	c.key, c.none, c.from = key, none, from
}

// CouponKeys implements redemption.Ledger. New codes are made with the last of the keys from then on; where a row is
// spoilt, orders go without codes, and nobody waits for it.
func (s *Store) CouponKeys(ctx context.Context) (keys []redemption.Key, err error) {
	from := s.now()
	err = s.db.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
		if keys, err = couponKeys(tx); err == nil && len(keys) == 0 {
			keys, err = s.addCouponKey(tx, 0)
		}
		return err
	})
	if errors.Is(err, ErrKeySpoilt) {
		s.log.ErrorContext(ctx, "orders are paid without their codes until a row in tb_setting is mended", "error", err)
		s.couponKey.learn(redemption.Key{}, err, from)
	}
	if err != nil {
		return nil, sqlkit.ReadError("reading the keys of codes", err)
	}
	s.couponKey.learn(keys[len(keys)-1], nil, from)
	return keys, nil
}

// RotateCouponKey adds a key, with which all instances make new codes within a minute. Codes of the keys before stay
// good. It returns the key's id, or ErrKeysExhausted.
func (s *Store) RotateCouponKey(ctx context.Context) (id int, err error) {
	err = s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		keys, err := couponKeys(tx)
		if err != nil {
			return err
		}
		if id = len(keys); id > redemption.MaxKeyID {
			return ErrKeysExhausted
		}
		if keys, err = s.addCouponKey(tx, id); err != nil {
			return err
		}
		if len(keys) != id+1 {
			return fmt.Errorf("%d keys of codes, whose ids do not go from 0 to %d", len(keys), id)
		}
		now, err := s.db.LedgerTime(tx)
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
func couponKeys(tx *gorm.DB) ([]redemption.Key, error) { return keysOf(couponKeySettings().Read(tx)) }

// addCouponKey makes the key with the id, unless another transaction is first, and returns all keys.
func (s *Store) addCouponKey(tx *gorm.DB, id int) ([]redemption.Key, error) {
	return keysOf(s.db.AddSecret(tx, couponKeySettings(), id))
}

// keysOf makes keys of the secrets that were read, or ErrKeySpoilt of what could not be.
func keysOf(secrets []sqlkit.Secret, err error) ([]redemption.Key, error) {
	if errors.Is(err, sqlkit.ErrSecretSpoilt) {
		return nil, fmt.Errorf("%w: %w", ErrKeySpoilt, err)
	}
	keys := make([]redemption.Key, len(secrets))
	for i, secret := range secrets {
		keys[i] = redemption.Key{ID: secret.ID, Secret: secret.Value}
	}
	return keys, err
}

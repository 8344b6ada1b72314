package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order/redemption"
	"seckill/internal/voucher"
)

// couponKeySetting begins the names of the keys of codes; the id follows, in two digits, so that names sort as ids do.
const couponKeySetting = "coupon_key_"

// couponKeyTTL is how long an instance may go on using the key before a rotation.
const couponKeyTTL = time.Minute

// ErrKeysExhausted says that codes have room for no more keys.
var ErrKeysExhausted = errors.New("no more keys: a code has room for 32")

// couponKey caches the key of new codes.
type couponKey struct {
	mu    sync.Mutex
	key   redemption.Key
	until time.Time
}

// CouponKeys implements redemption.Ledger.
func (s *Store) CouponKeys(ctx context.Context) ([]redemption.Key, error) {
	var keys []redemption.Key
	err := s.writeRetry(ctx, func(tx *gorm.DB) (err error) {
		if keys, err = couponKeys(tx); err == nil && len(keys) == 0 {
			keys, err = s.addCouponKey(tx, 0)
		}
		return err
	})
	if err != nil {
		return nil, readError("reading the keys of codes", err)
	}
	return keys, nil
}

// RotateCouponKey adds a key, with which all instances make new codes within a minute. Codes of the keys before stay good.
// It returns the key's id, or ErrKeysExhausted.
func (s *Store) RotateCouponKey(ctx context.Context) (id int, err error) {
	err = s.writeRetry(ctx, func(tx *gorm.DB) error {
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
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		return writeAuditEntry(tx, now, voucher.Author{}, auditRow{Action: voucher.Rotated, Changes: []voucher.FieldChange{
			{Field: "couponKey", From: fmt.Sprint(id - 1), To: fmt.Sprint(id)},
		}})
	})
	if err != nil {
		return 0, readError("rotating the key of codes", err)
	}
	return id, nil
}

// currentCouponKey returns the key for new codes: the latest.
func (s *Store) currentCouponKey(tx *gorm.DB) (redemption.Key, error) {
	c := &s.couponKey
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.now()
	if now.Before(c.until) {
		return c.key, nil
	}
	keys, err := couponKeys(tx)
	if err == nil && len(keys) == 0 {
		keys, err = s.addCouponKey(tx, 0)
		now = time.Time{} // it is not committed yet: others are asked again
	}
	if err != nil {
		return redemption.Key{}, err
	}
	c.key, c.until = keys[len(keys)-1], now.Add(couponKeyTTL)
	return c.key, nil
}

// couponKeys reads the keys, in the order of their ids.
func couponKeys(tx *gorm.DB) ([]redemption.Key, error) {
	var rows []settingRow
	if err := tx.Where("name LIKE ?", couponKeySetting+"%").Order("name").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("reading the keys of codes: %w", err)
	}
	keys := make([]redemption.Key, len(rows))
	for i, row := range rows {
		if _, err := fmt.Sscanf(row.Name, couponKeySetting+"%02d", &keys[i].ID); err != nil || keys[i].ID > redemption.MaxKeyID {
			return nil, fmt.Errorf("setting %s names no key of codes", row.Name)
		}
		if len(row.Value) != redemption.KeyBytes {
			return nil, fmt.Errorf("setting %s has %d bytes instead of %d", row.Name, len(row.Value), redemption.KeyBytes)
		}
		copy(keys[i].Secret[:], row.Value)
	}
	return keys, nil
}

// addCouponKey makes the key with the id, unless another transaction is first, and returns all keys.
func (s *Store) addCouponKey(tx *gorm.DB, id int) ([]redemption.Key, error) {
	var secret [redemption.KeyBytes]byte
	_, _ = rand.Read(secret[:]) // it never fails: without randomness the program ends
	now, err := s.ledgerTime(tx)
	if err != nil {
		return nil, err
	}
	err = tx.Create(&settingRow{Name: fmt.Sprintf(couponKeySetting+"%02d", id), Value: secret[:], CreateTime: now}).Error
	if err != nil && !isDuplicate(err) { // the statement changed nothing, and the transaction goes on
		return nil, fmt.Errorf("storing a key of codes: %w", err)
	}
	return couponKeys(tx)
}

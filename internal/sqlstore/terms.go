package sqlstore

import (
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

const (
	termsTTL = time.Minute // the service never changes terms; it notices a correction by hand after this
	maxTerms = 10_000
)

// termsCache caches the vouchers' terms for orders, so that recording a batch reads nothing.
type termsCache struct {
	now      func() time.Time
	currency string

	mu      sync.Mutex
	entries map[int64]termsEntry
}

type termsEntry struct {
	order.Terms

	until time.Time
}

func newTermsCache(now func() time.Time, currency string) *termsCache {
	return &termsCache{now: now, currency: currency, entries: make(map[int64]termsEntry)}
}

// of returns the terms of the vouchers that exist. It reads those that are not cached from db.
func (c *termsCache) of(db *gorm.DB, voucherIDs []int64) (map[int64]order.Terms, error) {
	terms, missing := c.known(voucherIDs)
	for part := range sqlkit.Chunks(missing) {
		var rows []voucherRow
		if err := db.Select("id", "pay_value", "pay_within", "shop_id", "redeemable", "valid_until",
			"valid_days").Where("id IN ?", part).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("reading pay terms: %w", err)
		}
		for _, row := range rows {
			terms[row.ID] = row.terms(c.currency)
		}
		c.learn(rows)
	}
	return terms, nil
}

func (c *termsCache) known(voucherIDs []int64) (terms map[int64]order.Terms, missing []int64) {
	terms = make(map[int64]order.Terms, len(voucherIDs))
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range voucherIDs {
		if e, ok := c.entries[id]; ok && now.Before(e.until) {
			terms[id] = e.Terms
		} else {
			missing = append(missing, id)
		}
	}
	return terms, missing
}

func (c *termsCache) learn(rows []voucherRow) {
	until := c.now().Add(termsTTL)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries)+len(rows) > maxTerms {
		clear(c.entries) // rare, and one query brings back what is in use
	}
	for _, row := range rows {
		c.entries[row.ID] = termsEntry{Terms: row.terms(c.currency), until: until}
	}
}

package sqlstore

import (
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"
)

const (
	priceTTL  = time.Minute // a price never changes by the service; one corrected by hand is seen after this
	maxPrices = 10_000
)

// priceCache remembers what vouchers cost, so that recording a batch reads nothing.
type priceCache struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[int64]priceEntry
}

type priceEntry struct {
	cents int64
	until time.Time
}

func newPriceCache(now func() time.Time) *priceCache {
	return &priceCache{now: now, entries: make(map[int64]priceEntry)}
}

// of returns the prices in cents of those of the vouchers that exist, asking db for what is not remembered.
func (c *priceCache) of(db *gorm.DB, voucherIDs []int64) (map[int64]int64, error) {
	prices, missing := c.known(voucherIDs)
	for part := range chunks(missing) {
		var rows []voucherRow
		if err := db.Select("id", "pay_value").Where("id IN ?", part).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("reading prices: %w", err)
		}
		for _, row := range rows {
			prices[row.ID] = row.PayValue
		}
		c.learn(rows)
	}
	return prices, nil
}

func (c *priceCache) known(voucherIDs []int64) (prices map[int64]int64, missing []int64) {
	prices = make(map[int64]int64, len(voucherIDs))
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range voucherIDs {
		if e, ok := c.entries[id]; ok && now.Before(e.until) {
			prices[id] = e.cents
		} else {
			missing = append(missing, id)
		}
	}
	return prices, missing
}

func (c *priceCache) learn(rows []voucherRow) {
	until := c.now().Add(priceTTL)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries)+len(rows) > maxPrices {
		clear(c.entries) // rare, and one query brings back what is in use
	}
	for _, row := range rows {
		c.entries[row.ID] = priceEntry{cents: row.PayValue, until: until}
	}
}

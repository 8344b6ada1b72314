package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	size    = 100_000     // vouchers remembered at most
	ttl     = time.Hour   // for vouchers; the reconciler refreshes those on sale every second
	missTTL = time.Second // for ids that do not exist: one query a second for any number of callers
)

// LoadTimeout is how long one query for a voucher may take.
const LoadTimeout = 2 * time.Second

// Vouchers finds vouchers in the ledger.
type Vouchers interface {
	// Voucher returns a voucher with its sale, or voucher.ErrNotFound.
	Voucher(ctx context.Context, id int64) (voucher.Voucher, error)
}

// Catalog is what this instance remembers of vouchers.
type Catalog struct {
	source Vouchers
	cache  *otter.Cache[int64, entry]

	mu    sync.RWMutex
	sales map[int64]order.SaleRef // the sales that Redis is to hold, as SetSales was told last
}

type entry struct {
	voucher voucher.Voucher
	err     error // voucher.ErrNotFound, or nil
}

// New returns an empty catalog. Its cache cleans up in a goroutine of its own, which Close ends.
func New(source Vouchers) *Catalog {
	return &Catalog{
		source: source,
		cache: otter.Must(&otter.Options[int64, entry]{
			MaximumSize: size,
			ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[int64, entry]) time.Duration {
				if e.Value.err != nil {
					return missTTL
				}
				return ttl
			}),
		}),
	}
}

// Close ends the cleaning. The catalog must not be used afterwards.
func (c *Catalog) Close() { c.cache.StopAllGoroutines() }

// Find returns a voucher, from memory when it is remembered. It returns voucher.ErrNotFound, or ErrUnavailable when
// it is not remembered and the ledger cannot be asked.
func (c *Catalog) Find(ctx context.Context, id int64) (voucher.Voucher, error) {
	e, hit := c.cache.GetIfPresent(id)
	if !hit {
		var err error
		if e, err = c.cache.Get(ctx, id, otter.LoaderFunc[int64, entry](c.load)); err != nil {
			return voucher.Voucher{}, fmt.Errorf("%w: voucher %d: %w", order.ErrUnavailable, id, err)
		}
	}
	return e.voucher, e.err
}

// load asks the ledger. Callers share one query, so it must not end with the first caller's context.
func (c *Catalog) load(ctx context.Context, id int64) (entry, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), LoadTimeout)
	defer cancel()
	v, err := c.source.Voucher(ctx, id)
	if errors.Is(err, voucher.ErrNotFound) {
		return entry{err: voucher.ErrNotFound}, nil
	}
	return entry{voucher: v}, err
}

// Forget makes the next Find ask the ledger.
func (c *Catalog) Forget(id int64) { c.cache.Invalidate(id) }

// SetSales remembers the vouchers whose sales Redis is to hold, and forgets those that are no longer among them.
func (c *Catalog) SetSales(vs []voucher.Voucher) {
	kept := make(map[int64]order.SaleRef, len(vs))
	for _, v := range vs {
		kept[v.ID] = order.SaleOf(v)
		c.cache.Set(v.ID, entry{voucher: v})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.sales {
		if _, still := kept[id]; !still {
			c.cache.Invalidate(id)
		}
	}
	c.sales = kept
}

// Keeps reports whether Redis is to hold the voucher's sale, as SetSales was told last.
func (c *Catalog) Keeps(voucherID int64) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, kept := c.sales[voucherID]
	return kept
}

// Sales returns the sales that Redis is to hold, as SetSales was told last.
func (c *Catalog) Sales() []order.SaleRef {
	c.mu.RLock()
	defer c.mu.RUnlock()
	sales := make([]order.SaleRef, 0, len(c.sales))
	for _, sale := range c.sales {
		sales = append(sales, sale)
	}
	return sales
}

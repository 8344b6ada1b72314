package order

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"seckill/internal/voucher"
)

const (
	catalogSize     = 100_000         // vouchers remembered at most
	catalogTTL      = time.Hour       // for vouchers; the keeper refreshes those on sale every second
	catalogMissTTL  = time.Second     // for ids that do not exist: one query a second for any number of callers
	catalogLoadTime = 2 * time.Second // how long one query may take
)

// Vouchers finds vouchers in the ledger.
type Vouchers interface {
	// Voucher returns a voucher with its sale, or voucher.ErrNotFound.
	Voucher(ctx context.Context, id int64) (voucher.Voucher, error)
}

// Catalog is what this instance remembers of vouchers, so that a purchase asks the ledger nothing: which are seckill
// ones, where their keys are, what they last were. Unknown ids are remembered for a second (rule 13). While the
// ledger is away, what is remembered stays valid (rule 14): Redis decides about a purchase, not the catalog.
type Catalog struct {
	source Vouchers
	cache  *otter.Cache[int64, found]

	mu   sync.RWMutex
	kept map[int64]SaleRef // the sales that Redis is to hold, as of the last sweep
}

type found struct {
	voucher voucher.Voucher
	err     error // voucher.ErrNotFound, or nil
}

// NewCatalog returns an empty catalog. Its cache cleans up in a goroutine of its own, which Close ends.
func NewCatalog(source Vouchers) *Catalog {
	return &Catalog{
		source: source,
		cache: otter.Must(&otter.Options[int64, found]{
			MaximumSize: catalogSize,
			ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[int64, found]) time.Duration {
				if e.Value.err != nil {
					return catalogMissTTL
				}
				return catalogTTL
			}),
		}),
	}
}

// Close ends the cleaning. The catalog remembers no more.
func (c *Catalog) Close() { c.cache.StopAllGoroutines() }

// Find returns a voucher, from memory when it is remembered. It returns voucher.ErrNotFound, or ErrUnavailable when
// it is not remembered and the ledger cannot be asked.
func (c *Catalog) Find(ctx context.Context, id int64) (voucher.Voucher, error) {
	f, hit := c.cache.GetIfPresent(id)
	if !hit {
		var err error
		if f, err = c.cache.Get(ctx, id, otter.LoaderFunc[int64, found](c.load)); err != nil {
			return voucher.Voucher{}, fmt.Errorf("%w: voucher %d: %w", ErrUnavailable, id, err)
		}
	}
	return f.voucher, f.err
}

// load asks the ledger. Callers share one query, so it must not end with the first caller's context.
func (c *Catalog) load(ctx context.Context, id int64) (found, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogLoadTime)
	defer cancel()
	v, err := c.source.Voucher(ctx, id)
	if errors.Is(err, voucher.ErrNotFound) {
		return found{err: voucher.ErrNotFound}, nil
	}
	return found{voucher: v}, err
}

// Forget makes the next Find ask the ledger.
func (c *Catalog) Forget(id int64) { c.cache.Invalidate(id) }

// keep remembers the vouchers whose sales Redis is to hold, and forgets those that have left.
func (c *Catalog) keep(vs []voucher.Voucher) {
	kept := make(map[int64]SaleRef, len(vs))
	for _, v := range vs {
		kept[v.ID] = saleRef(v)
		c.cache.Set(v.ID, found{voucher: v})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.kept {
		if _, still := kept[id]; !still {
			c.cache.Invalidate(id)
		}
	}
	c.kept = kept
}

// Kept returns the sales that Redis is to hold, as of the last sweep.
func (c *Catalog) Kept() []SaleRef {
	c.mu.RLock()
	defer c.mu.RUnlock()
	sales := make([]SaleRef, 0, len(c.kept))
	for _, sale := range c.kept {
		sales = append(sales, sale)
	}
	return sales
}

// saleRef names a seckill voucher's sale.
func saleRef(v voucher.Voucher) SaleRef {
	return SaleRef{VoucherID: v.ID, Partition: v.Sale.Partition}
}

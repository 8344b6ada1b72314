package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"seckill/internal/order"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

const (
	size     = 100_000          // vouchers remembered at most
	saleTTL  = time.Hour        // for sales that Redis holds; the reconciler renews them every second
	otherTTL = 10 * time.Second // for vouchers that nobody renews
	missTTL  = time.Second      // for ids that do not exist: one query a second for any number of callers
)

// LoadTimeout is how long one query for a voucher may take.
const LoadTimeout = 2 * time.Second

// Vouchers finds vouchers in the ledger.
type Vouchers interface {
	// Voucher returns a voucher with its sale, or voucher.ErrNotFound.
	Voucher(ctx context.Context, id int64) (voucher.Voucher, error)
}

// Catalog is this instance's cache of vouchers.
type Catalog struct {
	source Vouchers
	cache  *otter.Cache[int64, entry]
	loader otter.Loader[int64, entry] // load

	guarded atomic.Pointer[map[int64]guarded] // the guards of cached vouchers; nil if none has any

	mu sync.RWMutex
	// The vouchers of the last SetSales, whose sales Redis must hold, the latest end first.
	sales  []voucher.Voucher
	byID   map[int64]int // index in sales
	newest int64         // highest id of sales
	// partitions are those of the sales; replaced, never changed.
	partitions []int
}

// guarded is a cached voucher's guards.
type guarded struct {
	settings    *guards.Settings
	visibleFrom time.Time
	listed      bool
}

// shownAhead is how early, by this machine's clock, the limits of a hidden sale begin to hold before the sale becomes
// visible. Redis's clock decides when it does, and may be ahead by that much.
const shownAhead = 2 * time.Second

type entry struct {
	voucher voucher.Voucher
	err     error // voucher.ErrNotFound, or nil
}

// New returns an empty catalog. Its cache cleans up in a goroutine, which Close ends.
func New(source Vouchers) *Catalog {
	c := &Catalog{
		source: source,
		cache: otter.Must(&otter.Options[int64, entry]{
			MaximumSize: size,
			ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[int64, entry]) time.Duration {
				switch sale := e.Value.voucher.Sale; {
				case e.Value.err != nil:
					return missTTL
				case sale == nil || sale.Retired:
					return otherTTL
				default:
					return saleTTL
				}
			}),
		}),
	}
	c.loader = otter.LoaderFunc[int64, entry](c.load)
	return c
}

// Close stops the cache's goroutine. Do not use the catalog afterwards.
func (c *Catalog) Close() { c.cache.StopAllGoroutines() }

// Find returns a voucher, from the cache if it is there. Errors: voucher.ErrNotFound; ErrUnavailable if the voucher is
// not cached and the ledger does not answer.
func (c *Catalog) Find(ctx context.Context, id int64) (voucher.Voucher, error) {
	e, err := c.cache.Get(ctx, id, c.loader)
	if err != nil {
		return voucher.Voucher{}, fmt.Errorf("%w: voucher %d: %w", order.ErrUnavailable, id, err)
	}
	return e.voucher, e.err
}

// Read reads a voucher from the ledger, whatever is cached, and caches it. Use it to compare the ledger with Redis:
// Find may return what a sweep read earlier and stores meanwhile. Errors: those of Find.
func (c *Catalog) Read(ctx context.Context, id int64) (voucher.Voucher, error) {
	e, err := c.load(ctx, id)
	if err != nil {
		return voucher.Voucher{}, fmt.Errorf("%w: voucher %d: %w", order.ErrUnavailable, id, err)
	}
	c.cache.Set(id, e)
	return e.voucher, e.err
}

// load reads a voucher from the ledger. Callers of Find share one query, so it must not end with the first caller's
// context.
func (c *Catalog) load(ctx context.Context, id int64) (entry, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), LoadTimeout)
	defer cancel()
	v, err := c.source.Voucher(ctx, id)
	if errors.Is(err, voucher.ErrNotFound) {
		return entry{err: voucher.ErrNotFound}, nil
	}
	if err == nil && v.Sale != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.setGuards(id, guarded{v.Sale.Guards, v.VisibleFrom, v.Listed()})
	}
	return entry{voucher: v}, err
}

// Guards returns the guards of a cached voucher; nil if it has none, or is hidden or unlisted, since a limit would give
// it away. For a sale without guards it costs next to nothing.
func (c *Catalog) Guards(id int64) *guards.Settings {
	if all := c.guarded.Load(); all != nil {
		if g, has := (*all)[id]; has && g.listed && !time.Now().Add(shownAhead).Before(g.visibleFrom) {
			return g.settings
		}
	}
	return nil
}

// AnyGuards reports whether f is true for the guards of any cached voucher, hidden or not.
func (c *Catalog) AnyGuards(f func(*guards.Settings) bool) bool {
	if all := c.guarded.Load(); all != nil {
		for _, g := range *all {
			if f(g.settings) {
				return true
			}
		}
	}
	return false
}

// setGuards caches a voucher's guards. The caller holds c.mu.
func (c *Catalog) setGuards(id int64, g guarded) {
	was := c.guarded.Load()
	if g.settings == nil && (was == nil || (*was)[id].settings == nil) {
		return
	}
	all := make(map[int64]guarded)
	if was != nil {
		maps.Copy(all, *was)
	}
	if all[id] = g; g.settings == nil {
		delete(all, id)
	}
	c.guarded.Store(&all)
}

// Forget makes the next Find of the voucher read the ledger; its callers share no query that began before.
func (c *Catalog) Forget(id int64) { c.cache.Invalidate(id) }

// SetSales caches the vouchers whose sales Redis must hold, and forgets the sales that are no longer among them.
func (c *Catalog) SetSales(vs []voucher.Voucher) {
	sales := slices.Clone(vs)
	slices.SortStableFunc(sales, func(a, b voucher.Voucher) int { return b.Sale.End.Compare(a.Sale.End) })
	byID, newest := make(map[int64]int, len(sales)), int64(0)
	var partitions []int
	var withGuards map[int64]guarded
	for i, v := range sales {
		byID[v.ID], newest = i, max(newest, v.ID)
		c.cache.Set(v.ID, entry{voucher: v})
		if !slices.Contains(partitions, v.Sale.Partition) {
			partitions = append(partitions, v.Sale.Partition)
		}
		if v.Sale.Guards != nil {
			if withGuards == nil {
				withGuards = make(map[int64]guarded)
			}
			withGuards[v.ID] = guarded{v.Sale.Guards, v.VisibleFrom, v.Listed()}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.byID {
		if _, still := byID[id]; !still {
			c.cache.Invalidate(id)
		}
	}
	c.sales, c.byID, c.newest, c.partitions = sales, byID, newest, partitions
	if withGuards == nil {
		c.guarded.Store(nil)
	} else {
		c.guarded.Store(&withGuards)
	}
}

// MaySell returns the partition's sales that may have sold since the given time. They had not ended then, and either
// had begun by now or were changed after they were created, so that their window may have been a different one. It adds
// the sales of the vouchers in also.
func (c *Catalog) MaySell(partition int, since, now time.Time, also []int64) (sales []voucher.Voucher) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	byID, ended := c.byID, len(c.sales)
	for i, v := range c.sales {
		if v.Sale.End.Before(since) {
			ended = i
			break
		}
		if v.Sale.Partition == partition && (!v.Sale.Begin.After(now) || v.Sale.LastOperation > 0) {
			sales = append(sales, v)
		}
	}
	for _, sale := range also {
		if i, kept := byID[sale]; kept && i >= ended && c.sales[i].Sale.Partition == partition {
			sales = append(sales, c.sales[i])
		}
	}
	return sales
}

// Kept returns the partitions of the sales that Redis must hold now, and a function that reports whether a sale is one
// of them.
func (c *Catalog) Kept() (partitions []int, keeps func(voucherID int64) bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	byID := c.byID // SetSales replaces the map
	return c.partitions, func(voucherID int64) bool {
		_, kept := byID[voucherID]
		return kept
	}
}

// Newest returns the highest voucher id among the sales that Redis must hold; 0 without any.
func (c *Catalog) Newest() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.newest
}

// Keeps reports whether Redis must hold the voucher's sale, according to the last SetSales.
func (c *Catalog) Keeps(voucherID int64) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, kept := c.byID[voucherID]
	return kept
}

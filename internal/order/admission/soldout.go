package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"seckill/internal/kit/batch"
	"seckill/internal/order"
)

const (
	loadTimeout = 30 * time.Second // how long loading the winners of one sale may take
	loadPause   = 5                // the pause after loading, in multiples of the time that the loading took
)

// soldOutCache is what an instance remembers of a sold-out sale, so that it can refuse most latecomers without asking
// Redis: that no unit was left when it asked last (the sale's observation), and who the winners are. Winners must go
// to Redis, which tells them their order (rule 2).
//
// The set of winners cannot grow while the sale stays at one mark: admissions and revivals raise the sequence, rebuilds
// the epoch. So the cache loads it once per mark, in the background, and trusts it for as long as observations show
// that mark. The observation expires after SoldOutTTL. An ordinary request renews it: once half of that time has
// passed, one request at a time goes to Redis while all others are still answered from the cache.
type soldOutCache struct {
	holders HolderLister
	sale    order.SaleRef
	log     *slog.Logger
	running *batch.Running  // counts loading goroutines, for a clean stop
	closing <-chan struct{} // closed to end the loading goroutines

	winners  atomic.Pointer[winnerSet]
	renewing atomic.Bool // a request is on its way to renew the cache

	mu        sync.Mutex
	loading   bool
	notBefore time.Time                   // when the next loading may begin
	backOff   *backoff.ExponentialBackOff // after loading failed
}

// winnerSet is the holders of a sale at a mark.
type winnerSet struct {
	mark  order.Mark
	users []int64 // ascending, each once: eight bytes for each winner, which may be a million
}

func (w *winnerSet) has(user int64) bool {
	_, found := slices.BinarySearch(w.users, user)
	return found
}

// lookupResult says how to answer a request.
type lookupResult int8

const (
	askRedis lookupResult = iota
	// renewCache: ask Redis, and set soldOutCache.renewing to false once it has answered.
	renewCache
	answerNotStarted
	answerSoldOut
)

// lookup decides whether a user can be refused with ErrNotStarted or ErrSoldOut from memory. recorded is the sale's
// mark in the ledger, now the time by this machine's clock. It takes no lock and allocates nothing.
func (s *sale) lookup(user int64, recorded order.Mark, now time.Time) lookupResult {
	seen, winners := s.latest.Load(), s.cache.winners.Load()
	switch {
	case seen == nil:
		return askRedis
	case seen.tooEarly(now):
		return answerNotStarted
	case winners == nil:
		return askRedis
	}
	age := now.Sub(seen.sentAt)
	switch {
	case age >= order.SoldOutTTL, !seen.soldOut(), seen.view.Mark != winners.mark, seen.view.Mark.Before(recorded):
		return askRedis
	case seen.view.Buyers > int64(len(winners.users)): // not all holders could be read
		return askRedis
	case winners.has(user):
		return askRedis
	case age >= order.SoldOutTTL/2 && s.cache.renewing.CompareAndSwap(false, true):
		return renewCache
	default:
		return answerSoldOut
	}
}

// soldOut reports whether the sale, inside its window, had no unit to sell and none that waits to go back on sale.
func (o *observation) soldOut() bool {
	v := &o.view
	return v.Mode == order.SaleOpen && v.Stock <= 0 && !v.Now.Before(v.Begin) && v.Now.Before(v.End)
}

// observe starts loading the winners once a sale has sold out, and forgets winners of an older mark.
func (c *soldOutCache) observe(ctx context.Context, o *observation) {
	winners := c.winners.Load()
	if winners != nil && winners.mark == o.view.Mark {
		return
	}
	if winners != nil {
		c.winners.Store(nil)
	}
	if o.soldOut() {
		c.startLoading(ctx, o.view)
	}
}

// startLoading starts to load the winners, unless that is under way or failed a moment ago; the next observation then
// tries again.
func (c *soldOutCache) startLoading(ctx context.Context, view order.SaleView) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loading || time.Now().Before(c.notBefore) {
		return
	}
	c.loading = true
	c.running.Go(func() { c.load(ctx, view) })
}

// load reads the winners of a sale that was sold out in the view. It begins after Redis gave that view, so it finds
// everyone who was a holder then and still is one.
func (c *soldOutCache) load(ctx context.Context, view order.SaleView) {
	start := time.Now()
	users, err := c.read(ctx, view.Buyers)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loading = false
	select {
	case <-c.closing:
		return
	default:
	}
	if err != nil {
		pause := c.backOff.NextBackOff()
		c.notBefore = time.Now().Add(pause)
		c.log.WarnContext(ctx, "the winners of a sold-out sale could not be loaded; until then all ask Redis",
			"voucher", c.sale.VoucherID, "pause", pause, "error", err)
		return
	}
	c.backOff.Reset()
	c.notBefore = time.Now().Add(loadPause * time.Since(start))
	c.winners.Store(&winnerSet{mark: view.Mark, users: users})
}

// read returns the holders' user ids; about is how many to expect.
func (c *soldOutCache) read(ctx context.Context, about int64) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	c.running.Go(func() {
		select {
		case <-c.closing:
			cancel()
		case <-ctx.Done():
		}
	})
	users := make([]int64, 0, about)
	for claim, err := range c.holders(ctx, c.sale) {
		if _, unreadable := errors.AsType[*order.UnreadableHolderError](err); unreadable {
			continue // lookup notices that a holder is missing
		}
		if err != nil {
			return nil, fmt.Errorf("reading the holders: %w", err)
		}
		users = append(users, claim.UserID)
	}
	slices.Sort(users)
	return slices.Clip(slices.Compact(users)), nil
}

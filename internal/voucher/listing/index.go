package listing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/voucher"
)

const (
	// indexTTL is how often all ids are read instead of only new ones: an operator may write rows by hand.
	indexTTL = 10 * time.Second
	// lateIDs is how far below the highest id to look for new ones: a transaction that got a lower id may commit later.
	lateIDs = 1000
)

// Index knows which vouchers and shops exist. It costs eight bytes per voucher.
type Index struct {
	ledger    Ledger
	questions *batch.Batcher[struct{}, struct{}]

	mu     sync.RWMutex
	ids    []int64             // ascending
	hidden map[int64]time.Time // when they become visible
	shops  map[int64]struct{}
	began  time.Time // when the last query began
	asking bool      // whether a query is under way
	fullAt time.Time // when all ids were last read
}

// newIndex returns an empty index. running counts the goroutines of its queries.
func newIndex(ledger Ledger, running *batch.Running) *Index {
	x := &Index{ledger: ledger, shops: make(map[int64]struct{})}
	x.questions = batch.New(batch.Options{Calls: 1, Running: running},
		func(ctx context.Context, _ []*batch.Item[struct{}, struct{}]) error {
			return x.ask(ctx)
		})
	return x
}

// Voucher returns one voucher as the ledger has it, or voucher.ErrNotFound, without a query of its own for an unknown
// id. It returns ErrUnavailable when the ledger does not answer.
func (x *Index) Voucher(ctx context.Context, id int64) (voucher.Voucher, error) {
	err := x.want(ctx, func() bool { return x.has(id) })
	if err != nil {
		return voucher.Voucher{}, err
	}
	return x.ledger.Voucher(ctx, id)
}

// has reports whether the voucher exists. The caller holds the lock.
func (x *Index) has(id int64) bool {
	_, found := slices.BinarySearch(x.ids, id)
	return found
}

// wantVisible returns nil if the voucher exists and is visible at the time now. Otherwise it returns ErrUnavailable or
// voucher.ErrNotFound, for a hidden voucher as slowly as for an unknown one.
func (x *Index) wantVisible(ctx context.Context, id int64, now func() time.Time) error {
	return x.want(ctx, func() bool { return x.has(id) && !now().Before(x.hidden[id]) })
}

// wantShop returns nil if the shop has vouchers and is not the shop of rehearsals. Otherwise it returns
// voucher.ErrNotFound, or ErrUnavailable.
func (x *Index) wantShop(ctx context.Context, id int64) error {
	if id == voucher.RehearsalShop {
		return voucher.ErrNotFound
	}
	return x.want(ctx, func() bool {
		_, found := x.shops[id]
		return found
	})
}

// want calls has, and once more after a query that began after this call and that all callers share.
func (x *Index) want(ctx context.Context, has func() bool) error {
	locked := func() (found, hangs bool) {
		x.mu.RLock()
		defer x.mu.RUnlock()
		return has(), x.asking && time.Since(x.began) >= loadPatience
	}
	found, hangs := locked()
	if found {
		return nil
	}
	if hangs {
		return fmt.Errorf("%w: the ledger does not say which vouchers exist", ErrUnavailable)
	}
	waiting, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	if _, err := x.questions.Do(waiting, struct{}{}); err != nil {
		return fmt.Errorf("%w: reading which vouchers exist: %w", ErrUnavailable, err)
	}
	if found, _ = locked(); found {
		return nil
	}
	return voucher.ErrNotFound
}

// ask reads the new ids, or all of them, not before renewEvery has passed since the last time. At most one call is
// under way.
func (x *Index) ask(ctx context.Context) error {
	x.mu.RLock()
	pause := renewEvery - time.Since(x.began)
	x.mu.RUnlock()
	if pause > 0 {
		<-time.After(pause)
	}
	above := x.begin()
	// A purchase may wait for this query too, even if a reader has started it.
	ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.Purchase), readTimeout)
	defer cancel()
	ids, shops, hidden, err := x.ledger.VoucherIDs(ctx, above)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asking = false
	if err != nil {
		return err
	}
	if above == 0 {
		x.fullAt = x.began
		clear(x.shops)
	}
	x.hidden = hidden
	kept, _ := slices.BinarySearch(x.ids, above+1)
	x.ids = append(x.ids[:kept:kept], ids...)
	for _, shop := range shops {
		x.shops[shop] = struct{}{}
	}
	return nil
}

// begin notes that a query begins, and returns the id above which it reads: 0 when all ids are due.
func (x *Index) begin() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	x.began, x.asking = now, true
	if len(x.ids) == 0 || now.Sub(x.fullAt) >= indexTTL {
		return 0
	}
	return max(0, x.ids[len(x.ids)-1]-lateIDs)
}

// ErrUnavailable is returned when the vouchers were never read and a store does not answer. Retry shortly.
var ErrUnavailable = errors.New("vouchers cannot be read")

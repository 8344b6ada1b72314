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

// IndexLedger is the ledger as an Index reads it.
type IndexLedger interface {
	// Voucher returns one voucher with its sale, or voucher.ErrNotFound.
	Voucher(ctx context.Context, id int64) (voucher.Voucher, error)
	// VoucherIDs returns the ids of all vouchers above the given one, in ascending order, the shops that these are
	// of, and since when those are visible that are hidden still, of all vouchers.
	VoucherIDs(ctx context.Context, above int64) (ids, shops []int64, hidden map[int64]time.Time, err error)
}

const (
	// indexTTL is after how long all ids are read instead of new ones only: an operator may write rows by hand.
	indexTTL = 10 * time.Second
	// lateIDs is how far below the highest id new ones are looked for: a transaction that got a lower id may commit
	// later.
	lateIDs = 1000
)

// Index knows which vouchers and shops there are. It costs eight bytes for each voucher.
type Index struct {
	ledger    IndexLedger
	questions *batch.Batcher[struct{}, struct{}]

	mu     sync.RWMutex
	ids    []int64             // ascending
	hidden map[int64]time.Time // since when they are visible
	shops  map[int64]struct{}
	began  time.Time // when the last question did
	asking bool      // it is under way
	fullAt time.Time // when all ids were last asked for
}

// NewIndex returns an index that knows nothing yet. The goroutines of its questions are counted in running.
func NewIndex(ledger IndexLedger, running *sync.WaitGroup) *Index {
	x := &Index{ledger: ledger, shops: make(map[int64]struct{})}
	x.questions = batch.New(batch.Options{Calls: 1, Running: running},
		func(ctx context.Context, _ []*batch.Item[struct{}, struct{}]) error {
			return x.ask(ctx)
		})
	return x
}

// Voucher returns one voucher as the ledger has it, or voucher.ErrNotFound: an id that does not exist costs no query
// of its own. It returns ErrUnavailable when that cannot be found out.
func (x *Index) Voucher(ctx context.Context, id int64) (voucher.Voucher, error) {
	err := x.want(ctx, func() bool { return x.has(id) })
	if err != nil {
		return voucher.Voucher{}, err
	}
	return x.ledger.Voucher(ctx, id)
}

// has reports whether there is such a voucher. The caller has the lock.
func (x *Index) has(id int64) bool {
	_, found := slices.BinarySearch(x.ids, id)
	return found
}

// wantVisible returns nil if there is such a voucher and the public sees it at the time now, else
// voucher.ErrNotFound, as slowly as for one that does not exist, or ErrUnavailable.
func (x *Index) wantVisible(ctx context.Context, id int64, now func() time.Time) error {
	return x.want(ctx, func() bool { return x.has(id) && !now().Before(x.hidden[id]) })
}

// wantShop returns nil if the shop has vouchers and is not that of rehearsals, else voucher.ErrNotFound, or
// ErrUnavailable.
func (x *Index) wantShop(ctx context.Context, id int64) error {
	if id == voucher.RehearsalShop {
		return voucher.ErrNotFound
	}
	return x.want(ctx, func() bool {
		_, found := x.shops[id]
		return found
	})
}

// want looks once more after a question that began after this call, which all callers share.
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
		return fmt.Errorf("%w: the ledger does not say which vouchers there are", ErrUnavailable)
	}
	waiting, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	if _, err := x.questions.Do(waiting, struct{}{}); err != nil {
		return fmt.Errorf("%w: which vouchers there are: %w", ErrUnavailable, err)
	}
	if found, _ = locked(); found {
		return nil
	}
	return voucher.ErrNotFound
}

// ask reads the ids that are new, or all of them, not before renewEvery has passed since the last time. It is never
// called twice at once.
func (x *Index) ask(ctx context.Context) error {
	x.mu.RLock()
	pause := renewEvery - time.Since(x.began)
	x.mu.RUnlock()
	if pause > 0 {
		<-time.After(pause)
	}
	above := x.begin()
	// A purchase may wait for the question, also when a reader was the first to ask it.
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

// begin notes that a question begins, and returns the id above which it asks: 0 when all are due.
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

// ErrUnavailable is returned when nothing is known yet of what is asked for and a store does not answer. Ask again
// shortly.
var ErrUnavailable = errors.New("vouchers cannot be read")

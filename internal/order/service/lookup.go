package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"seckill/internal/batch"
	"seckill/internal/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/voucher"
)

const (
	maxReads = 4 // queries for single orders under way at once
	// lookupTimeout is how long it may take to find an order; a store that hangs is ErrUnavailable then.
	lookupTimeout = 700 * time.Millisecond
	// sideTimeout is how long an answer waits for what it can be given without: the status of an order that is certain, the
	// rest of a list, a history.
	sideTimeout = 150 * time.Millisecond
	// clockDoubt is by how much the clock that a window is decided by may have been set back since.
	clockDoubt = 10 * time.Minute
	// lateIDs is how far below the newest voucher new ones are looked for: a transaction that got a lower id may commit later.
	lateIDs = 1000
)

// partition is the one whose sales are asked. There is one so far.
const partition = 0

// Lookup finds orders, recorded or still queued, for their owner.
type Lookup struct {
	reader  reader
	stores  LookupStores
	catalog *catalog.Catalog

	unrecorded *batch.Batcher[struct{}, order.Unrecorded]
	newSales   *batch.Batcher[int64, []int64] // above an id
}

// LookupStores are where an order may stand.
type LookupStores struct {
	Rows     order.Reader
	Holdings Holdings
	NewSales NewSales
}

// NewLookup returns a lookup over the ledger and the holders in Redis. Its shared questions are purchases', even if a
// reader asks them first: payments wait for them too, and there are few at once.
func NewLookup(stores LookupStores, catalog *catalog.Catalog) *Lookup {
	l := &Lookup{reader: newReader(stores.Rows), stores: stores, catalog: catalog}
	l.unrecorded = batch.New(batch.Options{Calls: 2}, func(ctx context.Context, items []*batch.Item[struct{}, order.Unrecorded]) error {
		ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.Purchase), order.RedisTimeout)
		defer cancel()
		u, err := l.stores.Holdings.Unrecorded(ctx, partition)
		for _, it := range items {
			it.Answer = u
		}
		return err
	})
	l.newSales = batch.New(batch.Options{Calls: 2}, func(ctx context.Context, items []*batch.Item[int64, []int64]) error {
		ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.Purchase), pollTimeout)
		defer cancel()
		above := items[0].Request
		for _, it := range items {
			above = min(above, it.Request)
		}
		ids, err := l.stores.NewSales.SalesAbove(ctx, above)
		for _, it := range items {
			it.Answer = ids
		}
		return err
	})
	return l
}

// errOtherOwner is ErrNotFound for an order whose row is another user's: no sale has to be asked to be sure of that.
var errOtherOwner = fmt.Errorf("%w: another user's", order.ErrNotFound)

// Order returns the user's order, or ErrNotFound, also for somebody else's. It is ErrUnavailable, never ErrNotFound, while a
// place where the order may stand cannot be trusted: a store does not answer in time, Redis lacks a sale, or a sale is being
// rebuilt.
//
// An order without a row is queued while its user is a holder with it in a sale. Before ErrNotFound the ledger is asked once
// more for the row: the order may have got it, and its user be no holder any more, in between.
func (l *Lookup) Order(ctx context.Context, userID, orderID int64) (order.Order, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	o, err := l.recorded(ctx, userID, orderID)
	if !errors.Is(err, order.ErrNotFound) {
		return o, err
	}
	queued, all, err := l.queued(ctx, userID)
	if err != nil {
		return order.Order{}, err
	}
	for _, q := range queued {
		if q.ID == orderID {
			return q, nil
		}
	}
	o, err = l.recorded(ctx, userID, orderID)
	if errors.Is(err, order.ErrNotFound) && !all && !errors.Is(err, errOtherOwner) {
		return order.Order{}, fmt.Errorf("%w: a sale in which order %d may wait is being rebuilt", order.ErrUnavailable, orderID)
	}
	return o, err
}

// await is Order for a caller who, while the order is queued, waits for up to wait for its row. It is returned as queued
// when it has none by then, which is an answer too.
func (l *Lookup) await(ctx context.Context, notifier *Notifier, userID, orderID int64, wait time.Duration) (order.Order, error) {
	if wait <= 0 {
		return l.Order(ctx, userID, orderID)
	}
	sub := notifier.Subscribe(orderID)
	defer sub.Cancel()
	o, err := l.Order(ctx, userID, orderID)
	if err != nil || o.Status != order.Queued {
		return o, err
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if _, err := sub.Wait(waiting, order.Queued); err != nil {
		return o, nil
	}
	return l.Order(ctx, userID, orderID)
}

// row is Order for a caller who needs its row, and waits for it for a while: ErrUnavailable when there is none then.
func (l *Lookup) row(ctx context.Context, notifier *Notifier, userID, orderID int64) (order.Order, error) {
	o, err := l.await(ctx, notifier, userID, orderID, rowTimeout)
	if err == nil && o.Status == order.Queued {
		return order.Order{}, fmt.Errorf("%w: order %d is not recorded yet", order.ErrUnavailable, orderID)
	}
	return o, err
}

func (l *Lookup) recorded(ctx context.Context, userID, orderID int64) (order.Order, error) {
	o, err := l.reader.order(ctx, orderID)
	if err == nil && o.UserID != userID {
		return order.Order{}, errOtherOwner
	}
	return o, err
}

// queued returns the orders with which the user is a holder in Redis, as queued ones; some may have their row already. all
// is false when there may be more: a sale cannot be trusted, or the ledger does not say which sales are new.
//
// Only sales that can have an accepted order without a row are asked: those that sold since the oldest entry in the stream
// was added, and those that were rebuilt lately. With dead letters it is all of them: such an entry may be of any.
func (l *Lookup) queued(ctx context.Context, userID int64) (queued []order.Order, all bool, err error) {
	var (
		asking     sync.WaitGroup
		newest     []int64
		errCreated error
	)
	asking.Go(func() { newest, errCreated = l.newSales.Do(ctx, max(0, l.catalog.Newest()-lateIDs)) })
	defer asking.Wait()
	u, err := l.unrecorded.Do(ctx, struct{}{})
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	since, now := u.Since.Add(-clockDoubt), u.Now.Add(clockDoubt)
	if u.DeadLetters || u.Since.IsZero() {
		since, now = time.Time{}, time.Unix(math.MaxInt32, 0)
	}
	sales, keeps := l.catalog.MaySell(since, now, u.Rebuilt)
	queued, all, err = l.heldIn(ctx, userID, sales)
	if err != nil {
		return nil, false, err
	}
	if asking.Wait(); errCreated != nil {
		return queued, false, nil
	}
	created, err := l.created(ctx, slices.DeleteFunc(slices.Clone(newest), keeps)) // others share newest
	if err != nil {
		return queued, false, nil
	}
	more, allOfThem, err := l.heldIn(ctx, userID, created)
	return append(queued, more...), all && allOfThem, err
}

// created returns the vouchers of sales that the catalog was not told of yet.
func (l *Lookup) created(ctx context.Context, ids []int64) ([]voucher.Voucher, error) {
	vs := make([]voucher.Voucher, 0, len(ids))
	for _, id := range ids {
		v, err := l.catalog.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		if v.Sale != nil && !v.Sale.Retired {
			vs = append(vs, v)
		}
	}
	return vs, nil
}

// heldIn returns the orders with which the user is a holder in the sales, as queued ones. all is false when one of the sales
// cannot be trusted.
func (l *Lookup) heldIn(ctx context.Context, userID int64, sales []voucher.Voucher) (queued []order.Order, all bool, err error) {
	if len(sales) == 0 {
		return nil, true, nil
	}
	all = true
	refs := make([]order.SaleRef, len(sales))
	for i, v := range sales {
		refs[i] = order.SaleOf(v)
	}
	held, err := l.stores.Holdings.Holdings(ctx, userID, refs)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	for i, h := range held {
		recorded := order.Mark{Epoch: sales[i].Sale.Epoch, Sequence: sales[i].Sale.Sequence}
		all = all && h.Whole && !h.Mark.Before(recorded)
		if h.OrderID != 0 {
			queued = append(queued, order.Order{
				ID: h.OrderID, UserID: userID, VoucherID: refs[i].VoucherID, Quantity: h.Quantity, Status: order.Queued,
			})
		}
	}
	return queued, all, nil
}

// status returns what became of an order that was accepted, StatusUnknown when the ledger does not say so soon enough.
func (l *Lookup) status(ctx context.Context, orderID int64) order.Status {
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	o, err := l.reader.order(ctx, orderID)
	switch {
	case errors.Is(err, order.ErrNotFound):
		return order.Queued
	case err != nil:
		return order.StatusUnknown
	default:
		return o.Status
	}
}

// reader reads orders by id for all that look one up. Few callers have a query each. When many come at once, as when
// thousands are notified that their orders are recorded, those that come while maxReads queries are under way share the
// next one.
type reader struct {
	queries *batch.Batcher[int64, map[int64]order.Order] // asked for an id, answered with a query's rows
}

func newReader(rows order.Reader) reader {
	options := batch.Options{Size: order.MaxOrderIDs, Calls: maxReads}
	return reader{queries: batch.New(options, func(ctx context.Context, items []*batch.Item[int64, map[int64]order.Order]) error {
		ids := make([]int64, len(items))
		for i, it := range items {
			ids[i] = it.Request
		}
		ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.Purchase), pollTimeout)
		defer cancel()
		found, err := rows.OrdersByID(ctx, ids)
		for _, it := range items {
			it.Answer = found
		}
		return err
	})}
}

// order returns one order, ErrNotFound, or ErrUnavailable.
func (r reader) order(ctx context.Context, id int64) (order.Order, error) {
	found, err := r.queries.Do(ctx, id)
	if err != nil {
		return order.Order{}, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	o, has := found[id]
	if !has {
		return order.Order{}, order.ErrNotFound
	}
	return o, nil
}

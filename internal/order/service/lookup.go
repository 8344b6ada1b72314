package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/voucher"
)

const (
	maxReads = 4 // queries for single orders under way at once
	// lookupTimeout is how long it may take to find an order; a store that hangs is ErrUnavailable then.
	lookupTimeout = 700 * time.Millisecond
	// sideTimeout is how long an answer waits for what it can be given without: the status of an order that is
	// certain, the rest of a list, a history.
	sideTimeout = 150 * time.Millisecond
	// partitionTimeout is how long partitions have to say who holds what where there are several: the Redis node of
	// one may be away, and the others' orders are to be found all the same. It leaves time for the row to be looked
	// for again.
	partitionTimeout = 400 * time.Millisecond
	// clockDoubt is by how much the clock that a window is decided by may have been set back since.
	clockDoubt = 10 * time.Minute
	// lateIDs is how far below the newest voucher new ones are looked for: a transaction that got a lower id may
	// commit later.
	lateIDs = 1000
)

// Lookup finds orders, recorded or still queued, for their owner.
type Lookup struct {
	reader  reader
	stores  LookupStores
	catalog *catalog.Catalog

	unrecorded sync.Map                       // partition → *unrecordedCalls
	newSales   *batch.Batcher[int64, []int64] // above an id
}

// LookupStores are where an order may stand.
type LookupStores struct {
	Rows     order.Reader
	Holdings Holdings
	NewSales NewSales
}

// unrecordedCalls ask which sales of one partition may have accepted orders without a row.
type unrecordedCalls = batch.Batcher[struct{}, order.Unrecorded]

// NewLookup returns a lookup over the ledger and the holders in Redis. Its shared questions are purchases', even if a
// reader asks them first: payments wait for them too, and there are few at once.
func NewLookup(stores LookupStores, catalog *catalog.Catalog) *Lookup {
	l := &Lookup{reader: newReader(stores.Rows), stores: stores, catalog: catalog}
	l.newSales = batch.New(batch.Options{
		Calls: 2,
	}, func(ctx context.Context, items []*batch.Item[int64, []int64]) error {
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

// unrecordedIn returns what callers who ask about the partition share.
func (l *Lookup) unrecordedIn(partition int) *unrecordedCalls {
	if found, ok := l.unrecorded.Load(partition); ok {
		return found.(*unrecordedCalls)
	}
	found, _ := l.unrecorded.LoadOrStore(partition, batch.New(batch.Options{Calls: 2},
		func(ctx context.Context, items []*batch.Item[struct{}, order.Unrecorded]) error {
			ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.Purchase), order.RedisTimeout)
			defer cancel()
			u, err := l.stores.Holdings.Unrecorded(ctx, partition)
			for _, it := range items {
				it.Answer = u
			}
			return err
		}))
	return found.(*unrecordedCalls)
}

// errOtherOwner is ErrNotFound for an order whose row is another user's: no sale has to be asked to be sure of that.
var errOtherOwner = fmt.Errorf("%w: another user's", order.ErrNotFound)

// Order returns the user's order, or ErrNotFound, also for somebody else's. It is ErrUnavailable, never ErrNotFound,
// while a place where the order may stand cannot be trusted: a store does not answer in time, Redis lacks a sale, or
// a sale is being rebuilt.
//
// An order without a row is queued while its user is a holder with it in a sale. Before ErrNotFound the ledger is
// asked once more for the row: the order may have got it, and its user be no holder any more, in between.
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
		return order.Order{}, fmt.Errorf("%w: a sale in which order %d may wait is being rebuilt",
			order.ErrUnavailable, orderID)
	}
	return o, err
}

// await is Order for a caller who, while the order is queued, waits for up to wait for its row. It is returned as
// queued when it has none by then, which is an answer too.
func (l *Lookup) await(
	ctx context.Context, notifier *Notifier, userID, orderID int64, wait time.Duration,
) (order.Order, error) {
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

// queued returns the orders with which the user is a holder in Redis, as queued ones; some may have their row
// already. all is false when there may be more: a sale cannot be trusted, or the ledger does not say which sales are
// new.
//
// Only sales that can have an accepted order without a row are asked: those that sold since the oldest entry in the
// stream was added, and those that were rebuilt lately. With dead letters it is all of them: such an entry may be of
// any.
func (l *Lookup) queued(ctx context.Context, userID int64) (queued []order.Order, all bool, err error) {
	var (
		asking     sync.WaitGroup
		newest     []int64
		errCreated error
	)
	partitions, keeps := l.catalog.Kept()
	if len(partitions) > 1 { // for both questions
		within, cancel := context.WithTimeout(ctx, partitionTimeout)
		defer cancel()
		ctx = within
	}
	asking.Go(func() { newest, errCreated = l.newSales.Do(ctx, max(0, l.catalog.Newest()-lateIDs)) })
	defer asking.Wait()
	queued, all, err = together(ctx, partitions, func(ctx context.Context, partition int) ([]order.Order, bool, error) {
		return l.queuedIn(ctx, userID, partition)
	})
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
	byPartition := map[int][]voucher.Voucher{}
	for _, v := range created {
		byPartition[v.Sale.Partition] = append(byPartition[v.Sale.Partition], v)
	}
	more, allOfThem, err := together(ctx, slices.Collect(maps.Keys(byPartition)),
		func(ctx context.Context, partition int) ([]order.Order, bool, error) {
			return l.heldIn(ctx, userID, byPartition[partition])
		})
	if err != nil { // what was found is true all the same
		return queued, false, nil
	}
	for _, o := range more { // the catalog may have been told of its sale meanwhile
		if !slices.ContainsFunc(queued, func(known order.Order) bool { return known.ID == o.ID }) {
			queued = append(queued, o)
		}
	}
	return queued, all && allOfThem, nil
}

// queuedIn is queued for the sales of one partition that the catalog knows.
func (l *Lookup) queuedIn(
	ctx context.Context, userID int64, partition int,
) (queued []order.Order, all bool, err error) {
	u, err := l.unrecordedIn(partition).Do(ctx, struct{}{})
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	since, now := u.Since.Add(-clockDoubt), u.Now.Add(clockDoubt)
	if u.DeadLetters || u.Since.IsZero() {
		since, now = time.Time{}, time.Unix(math.MaxInt32, 0)
	}
	return l.heldIn(ctx, userID, l.catalog.MaySell(partition, since, now, u.Rebuilt))
}

// together asks all partitions at once. What they answer is one answer, which is not all there is where one of them
// fails, or does not answer in time while others may. It is an error where all fail.
func together(
	ctx context.Context, partitions []int, ask func(ctx context.Context, partition int) ([]order.Order, bool, error),
) (queued []order.Order, all bool, err error) {
	if len(partitions) == 1 {
		return ask(ctx, partitions[0])
	}
	ctx, cancel := context.WithTimeout(ctx, partitionTimeout)
	defer cancel()
	var (
		asking sync.WaitGroup
		mu     sync.Mutex
		failed []error
	)
	all = true
	for _, p := range partitions {
		asking.Go(func() {
			some, allOfThem, err := ask(ctx, p)
			mu.Lock()
			defer mu.Unlock()
			queued, all = append(queued, some...), all && allOfThem && err == nil
			if err != nil {
				failed = append(failed, fmt.Errorf("partition %d: %w", p, err))
			}
		})
	}
	asking.Wait()
	if len(failed) > 0 && len(failed) == len(partitions) {
		return nil, false, errors.Join(failed...)
	}
	return queued, all, nil
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

// heldIn returns the orders with which the user is a holder in the sales, as queued ones. all is false when one of
// the sales cannot be trusted.
func (l *Lookup) heldIn(
	ctx context.Context, userID int64, sales []voucher.Voucher,
) (queued []order.Order, all bool, err error) {
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
	return reader{
		queries: batch.New(options, func(ctx context.Context, items []*batch.Item[int64, map[int64]order.Order]) error {
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
		}),
	}
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

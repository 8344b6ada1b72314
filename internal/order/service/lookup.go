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
	// lookupTimeout is how long finding an order may take; after that it is ErrUnavailable, because a store hangs.
	lookupTimeout = 700 * time.Millisecond
	// sideTimeout is how long an answer waits for a part that may be missing: the status of an order that certainly
	// exists, the rest of a list, a history.
	sideTimeout = 150 * time.Millisecond
	// partitionTimeout is how long each of several partitions has to name its holders. The Redis node of one may be
	// away, and orders in the others must be found all the same. It leaves time to look for the row once more.
	partitionTimeout = 400 * time.Millisecond
	// clockDoubt is how far the clock that decides windows may have been set back before a lookup.
	clockDoubt = 10 * time.Minute
	// lateIDs is how far below the newest voucher to look for new ones: a transaction that got a lower id may commit
	// later.
	lateIDs = 1000
)

// Lookup finds orders, recorded or still queued, for their owner.
type Lookup struct {
	reader  reader
	stores  LookupStores
	catalog *catalog.Catalog

	unrecorded sync.Map                       // partition → *unrecordedCalls
	newSales   *batch.Batcher[int64, []int64] // asked for the sales above an id
}

// LookupStores are the stores in which an order may be.
type LookupStores struct {
	Rows     order.Reader
	Holdings Holdings
	// NewSales returns the ids, above the given one, of vouchers whose sale Redis must hold. The ledger also knows
	// sales that another instance has created just now.
	NewSales func(ctx context.Context, above int64) ([]int64, error)
}

// unrecordedCalls share the query for which sales of one partition may have accepted orders without a row.
type unrecordedCalls = batch.Batcher[struct{}, order.Unrecorded]

// NewLookup returns a lookup over the ledger and the holders in Redis.
func NewLookup(stores LookupStores, catalog *catalog.Catalog) *Lookup {
	l := &Lookup{reader: newReader(stores.Rows), stores: stores, catalog: catalog}
	l.newSales = sharing(batch.Options{Calls: 2}, pollTimeout,
		func(ctx context.Context, above []int64) ([]int64, error) {
			return l.stores.NewSales(ctx, slices.Min(above))
		})
	return l
}

// sharing returns a batcher whose callers share queries. Each query has one answer for all its requests. It counts as a
// purchase's, even if a reader starts it, because payments wait for it too; only a few run at once.
func sharing[Q, A any](
	options batch.Options, timeout time.Duration, ask func(ctx context.Context, requests []Q) (A, error),
) *batch.Batcher[Q, A] {
	return batch.New(options, func(ctx context.Context, items []*batch.Item[Q, A]) error {
		ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.Purchase), timeout)
		defer cancel()
		requests := make([]Q, len(items))
		for i, it := range items {
			requests[i] = it.Request
		}
		answer, err := ask(ctx, requests)
		for _, it := range items {
			it.Answer = answer
		}
		return err
	})
}

// unrecordedIn returns the batcher that callers share for a partition.
func (l *Lookup) unrecordedIn(partition int) *unrecordedCalls {
	if found, ok := l.unrecorded.Load(partition); ok {
		return found.(*unrecordedCalls)
	}
	found, _ := l.unrecorded.LoadOrStore(partition, sharing(batch.Options{Calls: 2}, order.RedisTimeout,
		func(ctx context.Context, _ []struct{}) (order.Unrecorded, error) {
			return l.stores.Holdings.Unrecorded(ctx, partition)
		}))
	return found.(*unrecordedCalls)
}

// errOtherOwner is ErrNotFound for an order whose row is another user's. It is certain without asking any sale.
var errOtherOwner = fmt.Errorf("%w: another user's", order.ErrNotFound)

// Order returns the user's order, or ErrNotFound, even if it is another user's. While a store in which the order may be
// cannot be trusted, it returns ErrUnavailable instead of ErrNotFound: a store does not answer in time, Redis lacks a
// sale, or a sale is being rebuilt.
//
// An order without a row is queued while it makes its user a holder in a sale. Before ErrNotFound, Order looks for the
// row once more: meanwhile the order may have got it, and its user may have ceased to be a holder.
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

// await is Order for a caller who waits, while the order is queued, for up to wait for its row. If it has no row by
// then, await returns it as queued.
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

// row is await that returns ErrUnavailable if the order has no row by then.
func (l *Lookup) row(
	ctx context.Context, notifier *Notifier, userID, orderID int64, wait time.Duration,
) (order.Order, error) {
	o, err := l.await(ctx, notifier, userID, orderID, wait)
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

// queued returns the orders by which the user is a holder in Redis, as queued ones; some may already have their row.
// all is false when there may be more: a sale cannot be trusted, or the ledger does not say which sales are new.
//
// It asks only sales that can have an accepted order without a row: those that sold since the oldest entry of the
// stream was added, and those that were rebuilt recently. If the partition has dead letters, it asks all sales, because
// such an entry may be of any.
func (l *Lookup) queued(ctx context.Context, userID int64) (queued []order.Order, all bool, err error) {
	var (
		asking     sync.WaitGroup
		newest     []int64
		errCreated error
	)
	partitions, keeps := l.catalog.Kept()
	if len(partitions) > 1 { // for both queries
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
	created, err := l.created(ctx, slices.DeleteFunc(slices.Clone(newest), keeps)) // callers share newest
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
	if err != nil { // the orders found so far are true all the same
		return queued, false, nil
	}
	for _, o := range more { // the catalog may have learned of its sale meanwhile
		if !slices.ContainsFunc(queued, func(known order.Order) bool { return known.ID == o.ID }) {
			queued = append(queued, o)
		}
	}
	return queued, all && allOfThem, nil
}

// queuedIn does what queued does, for those sales of one partition that the catalog knows.
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

// together asks all partitions at once and joins their answers. all is false if one of them fails, or does not answer
// in time while others may still. It returns an error if all fail.
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

// created returns the vouchers of sales that the catalog does not know yet.
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

// heldIn returns the orders by which the user is a holder in the sales, as queued ones. all is false when one of the
// sales cannot be trusted.
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

// status returns the status of an accepted order; StatusUnknown when the ledger does not answer in time.
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

// reader reads orders by id for all lookups. While few callers come, each has its own query. When many come at once, as
// when thousands are notified that their orders are recorded, those that come while maxReads queries are under way
// share the next one.
type reader struct {
	queries *batch.Batcher[int64, map[int64]order.Order] // takes an id, returns the rows of the query
}

func newReader(rows order.Reader) reader {
	return reader{sharing(batch.Options{Size: order.MaxOrderIDs, Calls: maxReads}, pollTimeout, rows.OrdersByID)}
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

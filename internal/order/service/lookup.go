package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/internal/batch"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
)

// maxReads is how many queries for single orders are under way at once.
const maxReads = 4

// Lookup finds orders, recorded or still queued, for their owner.
type Lookup struct {
	reader  reader
	holders order.HolderReader
	sales   order.KeptSales
	catalog *catalog.Catalog
}

// NewLookup returns a lookup over the ledger and the holders in Redis.
func NewLookup(rows order.Reader, holders order.HolderReader, sales order.KeptSales, catalog *catalog.Catalog) *Lookup {
	return &Lookup{reader: newReader(rows), holders: holders, sales: sales, catalog: catalog}
}

// Order returns the user's order, or ErrNotFound, also for somebody else's.
//
// An order without a row is queued while its user is a holder with it in a sale. The sales that the catalog knows are asked
// first. Another instance may have created one a moment ago, so before ErrNotFound the ledger is asked which sales there
// are, and once more for the row: the order may have got it, and its user be no holder any more, in between.
func (l *Lookup) Order(ctx context.Context, userID, orderID int64) (order.Order, error) {
	o, err := l.recorded(ctx, userID, orderID)
	if !errors.Is(err, order.ErrNotFound) {
		return o, err
	}
	for _, sales := range []func(context.Context) ([]order.SaleRef, error){l.known, l.fresh} {
		queued, err := l.queued(ctx, userID, sales)
		if err != nil {
			return order.Order{}, err
		}
		for _, q := range queued {
			if q.ID == orderID {
				return q, nil
			}
		}
	}
	return l.recorded(ctx, userID, orderID)
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
		return order.Order{}, order.ErrNotFound
	}
	return o, err
}

// Queued returns the orders with which the user is a holder in Redis, as queued ones; some may have their row already.
func (l *Lookup) Queued(ctx context.Context, userID int64) ([]order.Order, error) {
	return l.queued(ctx, userID, l.fresh)
}

func (l *Lookup) queued(ctx context.Context, userID int64, which func(context.Context) ([]order.SaleRef, error)) ([]order.Order, error) {
	sales, err := which(ctx)
	if err != nil || len(sales) == 0 {
		return nil, err
	}
	ids, err := l.holders.HolderOrders(ctx, userID, sales)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	var queued []order.Order
	for i, id := range ids {
		if id != 0 {
			queued = append(queued, order.Order{ID: id, UserID: userID, VoucherID: sales[i].VoucherID, Status: order.Queued})
		}
	}
	return queued, nil
}

// known returns the sales that the catalog remembers.
func (l *Lookup) known(context.Context) ([]order.SaleRef, error) { return l.catalog.Sales(), nil }

// fresh asks the ledger which sales Redis is to hold.
func (l *Lookup) fresh(ctx context.Context) ([]order.SaleRef, error) {
	vs, err := l.sales.SalesToKeep(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	sales := make([]order.SaleRef, len(vs))
	for i, v := range vs {
		sales[i] = order.SaleOf(v)
	}
	return sales, nil
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
		ctx, cancel := context.WithTimeout(ctx, pollTimeout)
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

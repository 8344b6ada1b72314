package order

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Rows reads recorded orders: the ledger.
type Rows interface {
	// OrdersByID returns those of the orders that have a row.
	OrdersByID(ctx context.Context, ids []int64) (map[int64]Order, error)
	// OrdersOf returns the orders of f.UserID that the filter lets through, with an id below before, newest first, at most
	// limit, and how many of them he has in all.
	OrdersOf(ctx context.Context, f Filter, before int64, limit int) ([]Order, int64, error)
	// LiveOrder returns the user's live order for a seckill voucher, or ErrNotFound.
	LiveOrder(ctx context.Context, key BuyerKey) (Order, error)
	// Recorded returns the status of those of the ids that have a row.
	Recorded(ctx context.Context, ids []int64) (map[int64]Status, error)
}

// Held answers who holds which place in Redis.
type Held interface {
	// HeldBy returns the user's order id in each of the sales, 0 where he has none, in one round trip.
	HeldBy(ctx context.Context, userID int64, sales []SaleRef) ([]int64, error)
}

// Lookup finds orders, recorded or still queued, for their owner.
type Lookup struct {
	reader  reader
	held    Held
	sales   SaleLedger
	catalog *Catalog
}

// NewLookup returns a lookup over the ledger and the places in Redis.
func NewLookup(rows Rows, held Held, sales SaleLedger, catalog *Catalog) *Lookup {
	return &Lookup{reader: reader{rows: rows}, held: held, sales: sales, catalog: catalog}
}

// Order returns the user's order, or ErrNotFound, also for somebody else's.
//
// An order without a row is queued while its user's place in a sale is held by it. The sales that the catalog knows
// are asked first; another instance may have created one a moment ago, so before there is said to be no such order,
// the ledger is asked which sales there are, and once more for the row: the order may have got it, and lost its place,
// in between.
func (l *Lookup) Order(ctx context.Context, userID, orderID int64) (Order, error) {
	o, err := l.recorded(ctx, userID, orderID)
	if !errors.Is(err, ErrNotFound) {
		return o, err
	}
	for _, sales := range []func(context.Context) ([]SaleRef, error){l.known, l.fresh} {
		queued, err := l.queued(ctx, userID, sales)
		if err != nil {
			return Order{}, err
		}
		for _, q := range queued {
			if q.ID == orderID {
				return q, nil
			}
		}
	}
	return l.recorded(ctx, userID, orderID)
}

// await is Order for one who, while the order is queued, waits for up to wait that it be recorded. It is returned as
// queued when it was not in that time, which is an answer too.
func (l *Lookup) await(ctx context.Context, room *Waitroom, userID, orderID int64, wait time.Duration) (Order, error) {
	if wait <= 0 {
		return l.Order(ctx, userID, orderID)
	}
	seat := room.Enter(orderID)
	defer seat.Leave()
	o, err := l.Order(ctx, userID, orderID)
	if err != nil || o.Status != Queued {
		return o, err
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if _, err := seat.Wait(waiting, Queued); err != nil {
		return o, nil
	}
	return l.Order(ctx, userID, orderID)
}

// row is Order for one who needs its row: he waits for it for a while, and gets ErrUnavailable when there is none then.
func (l *Lookup) row(ctx context.Context, room *Waitroom, userID, orderID int64) (Order, error) {
	o, err := l.await(ctx, room, userID, orderID, rowTime)
	if err == nil && o.Status == Queued {
		return Order{}, fmt.Errorf("%w: order %d is not recorded yet", ErrUnavailable, orderID)
	}
	return o, err
}

func (l *Lookup) recorded(ctx context.Context, userID, orderID int64) (Order, error) {
	o, err := l.reader.order(ctx, orderID)
	if err == nil && o.UserID != userID {
		return Order{}, ErrNotFound
	}
	return o, err
}

// Queued returns the orders that hold the user's places in Redis, as queued ones; some may have their row already.
func (l *Lookup) Queued(ctx context.Context, userID int64) ([]Order, error) {
	return l.queued(ctx, userID, l.fresh)
}

func (l *Lookup) queued(ctx context.Context, userID int64, which func(context.Context) ([]SaleRef, error)) ([]Order, error) {
	sales, err := which(ctx)
	if err != nil || len(sales) == 0 {
		return nil, err
	}
	ids, err := l.held.HeldBy(ctx, userID, sales)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var queued []Order
	for i, id := range ids {
		if id != 0 {
			queued = append(queued, Order{ID: id, UserID: userID, VoucherID: sales[i].VoucherID, Status: Queued})
		}
	}
	return queued, nil
}

// known returns the sales that the catalog remembers from the last sweep.
func (l *Lookup) known(context.Context) ([]SaleRef, error) { return l.catalog.Kept(), nil }

// fresh asks the ledger which sales Redis is to hold.
func (l *Lookup) fresh(ctx context.Context) ([]SaleRef, error) {
	vs, err := l.sales.SalesToKeep(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	sales := make([]SaleRef, len(vs))
	for i, v := range vs {
		sales[i] = saleRef(v)
	}
	return sales, nil
}

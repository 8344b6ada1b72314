package service

import (
	"context"
	"errors"
	"math"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/voucher"
)

const (
	rowTimeout   = 10 * time.Second // how long a change of a queued order waits for its row
	flushTimeout = time.Second      // how long an answer waits for Redis to apply what the ledger has committed
)

// Orders cancels and finds recorded orders and returns their history, for their owners and for admins.
type Orders struct {
	ledger   OrderLedger
	lookup   *Lookup
	notifier *Notifier
	catalog  *catalog.Catalog
	outbox   voucher.Outbox
	madeAt   func(orderID int64) time.Time
}

// NewOrders returns the orders of a ledger. madeAt returns, from an order's id, when that was generated, to the second.
func NewOrders(
	ledger OrderLedger, lookup *Lookup, notifier *Notifier, catalog *catalog.Catalog, outbox voucher.Outbox,
	madeAt func(orderID int64) time.Time,
) *Orders {
	return &Orders{ledger: ledger, lookup: lookup, notifier: notifier, catalog: catalog, outbox: outbox, madeAt: madeAt}
}

// Cancel cancels the user's unpaid order and returns it; a cancelled one is returned unchanged. It waits up to ten
// seconds for a queued order to be recorded. Errors: ErrNotFound, even for another user's order; *order.StateError for
// an order that cannot be cancelled; ErrUnavailable, also if a queued order has no row by then.
//
// The order is cancelled once the ledger has committed, whether Redis applies that at once or later.
func (s *Orders) Cancel(ctx context.Context, userID, orderID int64) (order.Order, error) {
	o, err := s.ledger.Transition(ctx, orderID, userID, order.Cancel, order.Owner)
	if errors.Is(err, order.ErrNotFound) {
		if _, err := s.lookup.row(ctx, s.notifier, userID, orderID, rowTimeout); err != nil {
			return order.Order{}, err
		}
		o, err = s.ledger.Transition(ctx, orderID, userID, order.Cancel, order.Owner)
	}
	if state, is := errors.AsType[*order.StateError](err); is && state.Status == order.Cancelled {
		return s.lookup.Order(ctx, userID, orderID)
	}
	return s.cancelled(ctx, o, err)
}

// CancelForStaff cancels anybody's order and returns it; a cancelled one is returned unchanged. Like Cancel, it waits
// for a queued order to be recorded. Errors: ErrNotFound, *order.StateError for an order that cannot be cancelled,
// *order.NotNowError, ErrUnavailable; for the author's key, *idempotency.RepeatedError, idempotency.ErrReused.
func (s *Orders) CancelForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	o, err := s.ledger.CancelForStaff(ctx, act)
	if errors.Is(err, order.ErrNotFound) {
		queued, err := s.lookup.anybodys(ctx, act.OrderID)
		if err == nil && queued.Status == order.Queued {
			_, err = s.lookup.row(ctx, s.notifier, queued.UserID, act.OrderID, rowTimeout)
		}
		if err != nil {
			return order.Order{}, err
		}
		o, err = s.ledger.CancelForStaff(ctx, act)
		return s.cancelled(ctx, o, err)
	}
	return s.cancelled(ctx, o, err)
}

// cancelled notifies the watchers of an order that was just cancelled, and flushes the outbox, which gives its unit
// back to Redis.
func (s *Orders) cancelled(ctx context.Context, o order.Order, err error) (order.Order, error) {
	if err != nil {
		return order.Order{}, order.OrUnavailable(err)
	}
	s.notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	flushing, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	_ = s.outbox.Flush(flushing, o.VoucherID) // if this fails, the outbox retries by itself
	return o, nil
}

// Order returns anybody's order, also a queued one, or ErrNotFound. It is for admins.
func (s *Orders) Order(ctx context.Context, orderID int64) (order.Order, error) {
	return s.lookup.anybodys(ctx, orderID)
}

// Find returns recorded orders that pass the filter, with an id below before (0 for all), newest first, at most limit.
// It is for admins.
func (s *Orders) Find(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, error) {
	if f.Waiting {
		return nil, nil
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	orders, err := s.ledger.Find(ctx, f, before, limit)
	return orders, order.OrUnavailable(err)
}

// History returns the order's events, oldest first. The first ones, accepted and recorded, follow from the order
// itself; all later ones are in the ledger. Error: ErrUnavailable if the ledger does not answer soon.
func (s *Orders) History(ctx context.Context, o order.Order) ([]order.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	v, err := s.catalog.Find(ctx, o.VoucherID)
	// If the voucher does not exist, the order failed for that reason.
	if err != nil && !errors.Is(err, voucher.ErrNotFound) {
		return nil, err
	}
	events := origin(o, v.Kind == voucher.Ordinary && err == nil, s.madeAt(o.ID))
	if o.Status == order.Queued {
		return events, nil
	}
	since, err := s.ledger.History(ctx, o.ID)
	if err != nil {
		return nil, order.OrUnavailable(err)
	}
	return append(events, since...), nil
}

package order

import (
	"context"
	"errors"
	"math"
	"time"

	"seckill/internal/voucher"
)

// Books are the lives of recorded orders: the ledger.
type Books interface {
	// Move takes the order one step, with a line of history and, when its unit goes back on sale, an operation, in one
	// transaction. owner 0 is anybody's. ErrNotFound when the order is not there or somebody else's; *StateError when the
	// step is not possible. It returns the order as it is then.
	Move(ctx context.Context, orderID, owner int64, action Action, by Actor, why string) (Order, error)
	// History returns what happened to the order since it was recorded, oldest first.
	History(ctx context.Context, orderID int64) ([]Event, error)
	// Find returns orders that the filter lets through, with an id below before, newest first, at most limit.
	Find(ctx context.Context, f Filter, before int64, limit int) ([]Order, error)
}

const (
	rowTime    = 10 * time.Second // how long one who wants something done to a queued order waits for its row
	followTime = time.Second      // how long an answer waits for Redis to follow what the ledger has committed
)

// Clerk sees to recorded orders for their owners and for admins: he cancels, tells what happened, and finds.
type Clerk struct {
	books    Books
	lookup   *Lookup
	room     *Waitroom
	catalog  *Catalog
	follower voucher.Follower
	madeAt   func(orderID int64) time.Time
}

// NewClerk returns a clerk. madeAt tells from an order's id when it was given out, to the second.
func NewClerk(
	books Books, lookup *Lookup, room *Waitroom, catalog *Catalog, follower voucher.Follower, madeAt func(orderID int64) time.Time,
) *Clerk {
	return &Clerk{books: books, lookup: lookup, room: room, catalog: catalog, follower: follower, madeAt: madeAt}
}

// Cancel cancels the user's unpaid order and returns it; one that is cancelled already is returned as it is. A queued
// order is waited for, for up to ten seconds: ErrUnavailable when it has no row even then. It returns ErrNotFound, also
// for somebody else's order, and *StateError for one that cannot be cancelled.
//
// Once the ledger has committed the order is cancelled, whether Redis follows at once or later.
func (c *Clerk) Cancel(ctx context.Context, userID, orderID int64) (Order, error) {
	o, err := c.books.Move(ctx, orderID, userID, Cancel, Owner, "")
	if errors.Is(err, ErrNotFound) {
		if _, err := c.lookup.row(ctx, c.room, userID, orderID); err != nil {
			return Order{}, err
		}
		o, err = c.books.Move(ctx, orderID, userID, Cancel, Owner, "")
	}
	if state, is := errors.AsType[*StateError](err); is && state.Status == Cancelled {
		return c.lookup.Order(ctx, userID, orderID)
	}
	if err != nil {
		return Order{}, orUnavailable(err)
	}
	c.room.Told(map[int64]Status{o.ID: o.Status})
	following, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	_ = c.follower.Follow(following, o.VoucherID) // the outbox goes on by itself
	return o, nil
}

// Order returns any recorded order, or ErrNotFound: for admins.
func (c *Clerk) Order(ctx context.Context, orderID int64) (Order, error) {
	return c.lookup.reader.order(ctx, orderID)
}

// Find returns recorded orders that the filter lets through, with an id below before (0 for all), newest first, at most
// limit: for admins.
func (c *Clerk) Find(ctx context.Context, f Filter, before int64, limit int) ([]Order, error) {
	if f.Waiting {
		return nil, nil
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	orders, err := c.books.Find(ctx, f, before, limit)
	return orders, orUnavailable(err)
}

// History returns what happened to the order, oldest first. That it was accepted and recorded follows from the order
// itself; everything since has been written down.
func (c *Clerk) History(ctx context.Context, o Order) ([]Event, error) {
	v, err := c.catalog.Find(ctx, o.VoucherID)
	if err != nil && !errors.Is(err, voucher.ErrNotFound) { // an order of a voucher that never was has failed for it
		return nil, err
	}
	events := origin(o, v.Kind == voucher.Ordinary && err == nil, c.madeAt(o.ID))
	if o.Status == Queued {
		return events, nil
	}
	since, err := c.books.History(ctx, o.ID)
	if err != nil {
		return nil, orUnavailable(err)
	}
	return append(events, since...), nil
}

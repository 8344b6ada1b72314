package service

import (
	"context"
	"errors"
	"time"

	"seckill/internal/order"
)

const (
	watchTick  = 15 * time.Second // how often a watcher is called when nothing happens
	maxWatched = 50               // how many of a user's newest orders WatchAll looks at
)

// Watch calls yield with the user's order at once and then whenever its state has changed, until the order is final
// (order.Status.Final), yield returns an error, or ctx ends; both errors are returned. Between changes it calls yield
// every 15 seconds with changed false and the same order, to show that the connection is alive. It returns ErrNotFound
// for another user's order, ErrStopping when the process stops, and ErrUnavailable when the order cannot be read at the
// start; later it waits for the stores to come back.
//
// Changes in quick succession may be yielded as one. If an order may be named only once it has its row, Watch first
// waits for that.
func (p *Purchases) Watch(
	ctx context.Context, userID, orderID int64, yield func(o order.Order, changed bool) error,
) error {
	sub := p.notifier.SubscribeWithTick(orderID, watchTick)
	defer sub.Cancel()
	o, err := p.lookup.Order(ctx, userID, orderID)
	if err != nil {
		return err
	}
	changed := true
	for {
		if o.Status != order.Queued || !p.options.WaitForRow {
			if err := yield(o, changed); err != nil {
				return err
			}
		}
		if o.Status.Final() {
			return nil
		}
		status, err := sub.Wait(ctx, o.Status)
		if err != nil {
			return err
		}
		if status == o.Status {
			changed = false // a tick
			continue
		}
		now, err := p.lookup.Order(ctx, userID, orderID)
		switch {
		case errors.Is(err, order.ErrUnavailable):
			changed = false // the ledger has just gone away: the notifier asks again
		case err != nil:
			return err
		default:
			o, changed = now, now.Status != o.Status
		}
	}
}

// WatchAll is Watch for those of the user's newest 50 orders that may change without them (queued, unpaid, paid,
// refunding), until none is left. Orders that are made later are not among them. A call with changed false has no
// order.
func (p *Purchases) WatchAll(
	ctx context.Context, userID int64, yield func(o order.Order, changed bool) error,
) error {
	page, err := p.Orders(ctx, order.Filter{UserID: userID}, 0, maxWatched)
	if err == nil && page.Stale {
		err = order.ErrUnavailable
	}
	if err != nil {
		return err
	}
	all := watches{purchases: p, userID: userID, of: map[int64]*watched{}, wake: make(chan struct{}, 1), yield: yield}
	defer all.end()
	for _, o := range page.Orders {
		if err := all.take(o); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(watchTick)
	defer ticker.Stop()
	for len(all.of) > 0 && err == nil {
		select {
		case <-all.wake:
			err = all.look(ctx)
		case <-ticker.C:
			err = yield(order.Order{}, false)
		case <-p.notifier.closing:
			err = order.ErrStopping
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

// watches are the orders of a user that one caller watches at once.
type watches struct {
	purchases *Purchases
	userID    int64
	of        map[int64]*watched
	wake      chan struct{} // holds a value when one has news
	yield     func(o order.Order, changed bool) error
}

type watched struct {
	*Subscription

	yielded order.Status
}

func (w *watches) end() {
	for _, one := range w.of {
		one.Cancel()
	}
}

// take yields an order if its state is news, and goes on watching it while it can change without its user. An order
// that cannot, and was not watched, is left out.
func (w *watches) take(o order.Order) error {
	one, changes := w.of[o.ID], o.Status.Live() && !o.Status.Final()
	if one == nil && !changes {
		return nil
	}
	if one == nil || one.yielded != o.Status {
		if err := w.yield(o, true); err != nil {
			return err
		}
	}
	if !changes {
		w.drop(o.ID)
		return nil
	}
	if one == nil {
		one = &watched{Subscription: w.purchases.notifier.SubscribeTo(o.ID, w.wake)}
		w.of[o.ID] = one
	}
	one.yielded = o.Status
	one.Await(o.Status)
	return nil
}

func (w *watches) drop(id int64) {
	w.of[id].Cancel()
	delete(w.of, id)
}

// look reads the orders that have news.
func (w *watches) look(ctx context.Context) error {
	for id, one := range w.of {
		if !one.News() {
			continue
		}
		now, err := w.purchases.lookup.Order(ctx, w.userID, id)
		switch {
		case err == nil:
			err = w.take(now)
		case errors.Is(err, order.ErrUnavailable): // the ledger has just gone away: the notifier asks again
			one.Await(one.yielded)
			err = nil
		case errors.Is(err, order.ErrNotFound):
			w.drop(id)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

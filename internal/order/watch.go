package order

import (
	"context"
	"errors"
	"time"
)

// watchStir is how often a watcher to whom nothing happens is called all the same.
const watchStir = 15 * time.Second

// Watch calls yield with the user's order at once and then whenever its state has changed, until the order has come to
// its end (Status.Final), yield returns an error, or ctx ends; both errors are returned. Between changes it calls yield
// every 15 seconds with changed false and the order as it was, so that a connection can be seen to be alive. It returns
// ErrNotFound for somebody else's order, ErrDismissed when the process stops, and ErrUnavailable when the order cannot be
// read to begin with; once it has begun, it waits for the stores to come back.
//
// Changes that follow each other quickly may come as one. Where an order may only be named once it has its row, it waits
// for that first.
func (d *Desk) Watch(ctx context.Context, userID, orderID int64, yield func(o Order, changed bool) error) error {
	seat := d.room.EnterStirred(orderID, watchStir)
	defer seat.Leave()
	o, err := d.lookup.Order(ctx, userID, orderID)
	if err != nil {
		return err
	}
	changed := true
	for {
		if o.Status != Queued || !d.options.WaitForRow {
			if err := yield(o, changed); err != nil {
				return err
			}
		}
		if o.Status.Final() {
			return nil
		}
		status, err := seat.Wait(ctx, o.Status)
		if err != nil {
			return err
		}
		if status == o.Status {
			changed = false // stirred
			continue
		}
		now, err := d.lookup.Order(ctx, userID, orderID)
		switch {
		case errors.Is(err, ErrUnavailable):
			changed = false // the ledger went away just now: the waitroom asks again
		case err != nil:
			return err
		default:
			o, changed = now, now.Status != o.Status
		}
	}
}

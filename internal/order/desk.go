package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// DeskOptions tune a Desk.
type DeskOptions struct {
	// WaitForRow makes every answer that names an order wait until the order is recorded: for a Redis that keeps
	// nothing when the process ends (the embedded mode). What is not recorded in time is ErrUnknownOutcome.
	WaitForRow bool
}

// recordTime is how long an answer that must wait for its row does so.
const recordTime = 10 * time.Second

// Desk is where buyers come: it sells, and answers for orders.
type Desk struct {
	admission *Admission
	lookup    *Lookup
	rows      Rows
	ids       IDs
	room      *Waitroom
	options   DeskOptions
}

// NewDesk returns a desk.
func NewDesk(admission *Admission, lookup *Lookup, rows Rows, ids IDs, room *Waitroom, options DeskOptions) *Desk {
	return &Desk{admission: admission, lookup: lookup, rows: rows, ids: ids, room: room, options: options}
}

// Buy asks for one unit of the voucher for the user, and for up to wait that the order be recorded. It returns the
// order as queued, or as what it became in that time; *AlreadyBoughtError when the user has one; or a sentinel of this
// package or of voucher. After ErrUnknownOutcome, repeating the call is the definitive question.
func (d *Desk) Buy(ctx context.Context, userID, voucherID int64, wait time.Duration) (Order, error) {
	id, err := d.ids.Next(ctx)
	if err != nil {
		return Order{}, fmt.Errorf("%w: no order id: %w", ErrUnavailable, err)
	}
	order := Order{ID: id, UserID: userID, VoucherID: voucherID, Status: Queued}
	if wait <= 0 && !d.options.WaitForRow {
		err := d.admission.Apply(ctx, voucherID, Applicant{UserID: userID, OrderID: id})
		return order, d.explain(ctx, userID, err)
	}
	seat := d.room.Enter(id)
	defer seat.Leave()
	if err := d.admission.Apply(ctx, voucherID, Applicant{UserID: userID, OrderID: id}); err != nil {
		return Order{}, d.explain(ctx, userID, err)
	}
	return d.await(ctx, seat, order, wait)
}

// await waits for the order's row, for up to wait, or as long as it must.
func (d *Desk) await(ctx context.Context, seat *Seat, o Order, wait time.Duration) (Order, error) {
	if d.options.WaitForRow {
		wait = max(wait, recordTime)
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	status, err := seat.Wait(waiting, Queued)
	switch {
	case err == nil && status == Unpaid:
		o.Status = Unpaid
		return o, nil
	case err == nil: // it ended at once: the row says how, if the ledger can be asked just now
		o.Status = status
		if row, err := d.lookup.Order(ctx, o.UserID, o.ID); err == nil {
			o = row
		}
		return o, nil
	case d.options.WaitForRow:
		return Order{}, fmt.Errorf("%w: order %d was not recorded in time", ErrUnknownOutcome, o.ID)
	default:
		return o, nil
	}
}

// explain completes an AlreadyBoughtError: what became of the order that the user has.
func (d *Desk) explain(ctx context.Context, userID int64, err error) error {
	var bought *AlreadyBoughtError
	if !errors.As(err, &bought) || bought.Status != StatusUnknown {
		return err
	}
	if d.options.WaitForRow {
		o, err := d.Order(ctx, userID, bought.OrderID, recordTime)
		if err != nil {
			return fmt.Errorf("%w: order %d is not recorded yet", ErrUnknownOutcome, bought.OrderID)
		}
		return &AlreadyBoughtError{OrderID: o.ID, Status: o.Status}
	}
	recorded, err := d.rows.Recorded(ctx, []int64{bought.OrderID})
	if err != nil {
		return bought // the order is certain, its state is not
	}
	status, has := recorded[bought.OrderID]
	if !has {
		status = Queued
	}
	return &AlreadyBoughtError{OrderID: bought.OrderID, Status: status}
}

// Order returns the user's order, or ErrNotFound, also for somebody else's. While it is queued, it waits for up to
// wait that it be recorded.
//
// Where an order may only be named once it has its row (DeskOptions.WaitForRow), it waits for that in any case, and an
// order that is still queued then is ErrUnavailable.
func (d *Desk) Order(ctx context.Context, userID, orderID int64, wait time.Duration) (Order, error) {
	if !d.options.WaitForRow {
		return d.order(ctx, userID, orderID, wait)
	}
	o, err := d.order(ctx, userID, orderID, max(wait, recordTime))
	if err == nil && o.Status == Queued {
		return Order{}, fmt.Errorf("%w: order %d is not recorded yet", ErrUnavailable, orderID)
	}
	return o, err
}

func (d *Desk) order(ctx context.Context, userID, orderID int64, wait time.Duration) (Order, error) {
	return d.lookup.await(ctx, d.room, userID, orderID, wait)
}

// Orders returns the orders of f.UserID that the filter lets through, with an id below before (0 for all), newest first,
// at most limit, and how many of them he has in all. Those that are still queued are among them, except where an order
// may only be named once it has its row.
func (d *Desk) Orders(ctx context.Context, f Filter, before int64, limit int) ([]Order, int64, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	queued, err := d.queued(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	var orders []Order
	var total int64
	if !f.Waiting {
		if orders, total, err = d.rows.OrdersOf(ctx, f, before, limit); err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	recorded := len(orders)
	for _, q := range queued {
		if slices.ContainsFunc(orders[:recorded], func(o Order) bool { return o.ID == q.ID }) {
			continue // got its row since
		}
		total++
		if q.ID < before {
			orders = append(orders, q)
		}
	}
	slices.SortFunc(orders, func(a, b Order) int { return cmp.Compare(b.ID, a.ID) })
	return orders[:min(len(orders), limit)], total, nil
}

// queued returns the user's orders that have no row yet, may be named, and pass the filter.
func (d *Desk) queued(ctx context.Context, f Filter) ([]Order, error) {
	if d.options.WaitForRow || f.Status != Queued {
		return nil, nil
	}
	queued, err := d.lookup.Queued(ctx, f.UserID)
	queued = slices.DeleteFunc(queued, func(q Order) bool { return !f.Passes(q) })
	if err != nil || len(queued) == 0 {
		return nil, err
	}
	ids := make([]int64, len(queued))
	for i, q := range queued {
		ids[i] = q.ID
	}
	recorded, err := d.rows.Recorded(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return slices.DeleteFunc(queued, func(q Order) bool { _, has := recorded[q.ID]; return has }), nil
}

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
)

// Orders returns the orders of f.UserID that pass the filter, with an id below before (0 for all), newest first, at
// most limit, and the number of all of them. It includes queued ones, unless orders may be named only once they have
// their row (PurchaseOptions.WaitForRow).
//
// It asks the stores at the same time, for sideTimeout at most. If only one of them answers, it returns that answer, as
// stale; if none does, ErrUnavailable.
func (p *Purchases) Orders(ctx context.Context, f order.Filter, before int64, limit int) (order.Page, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	var (
		asking sync.WaitGroup
		rows   ownRows
		queued []order.Order
		all    bool
		errs   [2]error
	)
	if !f.Waiting { // an order with a row is not waiting to be recorded
		asking.Go(func() { rows, errs[0] = p.recorded.Do(ctx, ownQuestion{f, before, limit}) })
	}
	asking.Go(func() { queued, all, errs[1] = p.queued(ctx, f) })
	asking.Wait()
	if (errs[0] != nil || f.Waiting && errs[1] != nil) && len(queued) == 0 || errs[0] != nil && errs[1] != nil {
		return order.Page{}, fmt.Errorf("%w: %w", order.ErrUnavailable, errors.Join(errs[:]...))
	}
	page := order.Page{
		Orders: slices.Clone(rows.orders), Total: rows.total, Stale: errs[0] != nil || errs[1] != nil || !all,
	}
	for _, q := range queued {
		p.addQueued(ctx, &page, rows, q, ownQuestion{f, before, limit})
	}
	slices.SortFunc(page.Orders, func(a, b order.Order) int { return cmp.Compare(b.ID, a.ID) })
	page.Orders = page.Orders[:min(len(page.Orders), limit)]
	return page, nil
}

// addQueued adds an order that Redis has queued to a page, unless the rows have it, or it is not on this page.
func (p *Purchases) addQueued(ctx context.Context, page *order.Page, rows ownRows, q order.Order, asked ownQuestion) {
	if slices.ContainsFunc(rows.orders, func(o order.Order) bool { return o.ID == q.ID }) {
		return // this order has its row
	}
	switch row, err := p.lookup.reader.order(ctx, q.ID); {
	case errors.Is(err, order.ErrNotFound):
	case err != nil:
		q.Status, page.Stale = order.StatusUnknown, true
	case !asked.filter.Passes(row) || row.ID >= asked.before || rows.covers(row.ID, asked.limit):
		return // this order belongs to another page, or is filtered out; it is counted in any case
	default:
		q = row // this order got its row after the rows were read
	}
	page.Total++
	if q.ID < asked.before {
		page.Orders = append(page.Orders, q)
	}
}

// maxOwnReads is how many queries for buyers' own orders are under way at once. While the ledger hangs, further callers
// wait for sideTimeout and cost nothing.
const maxOwnReads = 8

// ownQuestion is a query for recorded orders of a user.
type ownQuestion struct {
	filter order.Filter
	before int64
	limit  int
}

// ownRows are the recorded orders that such a query returned.
type ownRows struct {
	orders []order.Order
	total  int64
}

// covers reports whether a recorded order that is not among the rows is on a later page. Otherwise it was recorded
// after the query.
func (r ownRows) covers(id int64, limit int) bool {
	return len(r.orders) >= limit && id < r.orders[len(r.orders)-1].ID
}

func newOwnReads(rows order.Reader) *batch.Batcher[ownQuestion, ownRows] {
	return batch.New(batch.Options{
		Size: 1, Calls: maxOwnReads,
	}, func(ctx context.Context, items []*batch.Item[ownQuestion, ownRows]) (err error) {
		ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.OwnRead), pollTimeout)
		defer cancel()
		for _, it := range items {
			q := it.Request
			if it.Answer.orders, it.Answer.total, err = rows.OrdersOf(ctx, q.filter, q.before, q.limit); err != nil {
				return err
			}
		}
		return nil
	})
}

// queued returns the user's queued orders that pass the filter; none if orders may be named only once they have a row.
// all is false when there may be more.
func (p *Purchases) queued(ctx context.Context, f order.Filter) (queued []order.Order, all bool, err error) {
	if p.options.WaitForRow || f.Status != order.Queued {
		return nil, true, nil
	}
	queued, all, err = p.lookup.queued(ctx, f.UserID)
	return slices.DeleteFunc(queued, func(q order.Order) bool { return !f.Passes(q) }), all, err
}

package order

import (
	"context"
	"fmt"
	"sync"
)

// maxReads is how many queries for single orders are under way at a time.
const maxReads = 4

// reader reads orders by id for everybody who looks one up. Few callers have a query each; when many come at once, as
// when thousands are told that their orders are recorded, whoever comes while so many queries are under way shares the
// next one.
type reader struct {
	rows Rows

	mu   sync.Mutex
	busy int      // queries under way
	next *reading // for those who came while there were enough; nil when nobody did
}

// reading is one query.
type reading struct {
	ids  []int64
	done chan struct{} // closed at its end; what follows is valid then
	rows map[int64]Order
	err  error
}

// order returns one order, ErrNotFound, or ErrUnavailable.
func (r *reader) order(ctx context.Context, id int64) (Order, error) {
	mine := r.ask(ctx, id)
	select {
	case <-mine.done:
	case <-ctx.Done():
		return Order{}, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	if mine.err != nil {
		return Order{}, fmt.Errorf("%w: %w", ErrUnavailable, mine.err)
	}
	o, has := mine.rows[id]
	if !has {
		return Order{}, ErrNotFound
	}
	return o, nil
}

// ask returns the reading that answers the caller. It begins after this call, so that it sees what was told of before.
func (r *reader) ask(ctx context.Context, id int64) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &reading{done: make(chan struct{})}
	}
	mine := r.next
	mine.ids = append(mine.ids, id)
	if r.busy < maxReads {
		r.busy, r.next = r.busy+1, nil
		go r.serve(context.WithoutCancel(ctx), mine)
	}
	return mine
}

// serve reads until nobody waits. Callers share a query, so it does not end with the first caller's context.
func (r *reader) serve(ctx context.Context, mine *reading) {
	for mine != nil {
		call, cancel := context.WithTimeout(ctx, pollTime)
		mine.rows, mine.err = r.rows.OrdersByID(call, mine.ids)
		cancel()
		close(mine.done)
		r.mu.Lock()
		if mine, r.next = r.next, nil; mine == nil {
			r.busy--
		}
		r.mu.Unlock()
	}
}

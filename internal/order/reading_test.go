package order

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// slowRows answers when it is let.
type slowRows struct {
	fakeRows
	arrived, leave chan struct{}
	queries        int
}

func (r *slowRows) OrdersByID(ctx context.Context, ids []int64) (map[int64]Order, error) {
	r.mu.Lock()
	r.queries++
	r.mu.Unlock()
	r.arrived <- struct{}{}
	<-r.leave
	return r.fakeRows.OrdersByID(ctx, ids)
}

// A few callers have a query each; thousands who come meanwhile share the next ones, and each gets what is his. One that
// has left, and a ledger that is away, spoil nothing.
func TestReadersShareQueries(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			rows := &slowRows{fakeRows: fakeRows{rows: map[int64]Order{}, away: away}, arrived: make(chan struct{}), leave: make(chan struct{})}
			r := &reader{rows: rows}
			var wg sync.WaitGroup
			look := func(ctx context.Context, id int64) {
				wg.Go(func() {
					o, err := r.order(ctx, id)
					switch {
					case away || ctx != t.Context():
						if !errors.Is(err, ErrUnavailable) {
							t.Errorf("order %d: %v, want ErrUnavailable", id, err)
						}
					case id%2 == 1:
						if !errors.Is(err, ErrNotFound) {
							t.Errorf("order %d: %v, want ErrNotFound", id, err)
						}
					case err != nil || o.ID != id:
						t.Errorf("order %d: %+v, %v", id, o, err)
					}
				})
			}
			for id := int64(2); id < 6000; id += 2 {
				rows.put(Order{ID: id})
			}
			for id := range int64(maxReads) {
				look(t.Context(), id+2)
				<-rows.arrived
			}
			for id := int64(2); id < 6000; id++ {
				look(t.Context(), id)
			}
			ctx, cancel := context.WithCancel(t.Context())
			look(ctx, 7000)
			synctest.Wait()
			cancel()
			close(rows.leave)
			go func() {
				for range rows.arrived { // lets everybody pass
				}
			}()
			wg.Wait()
			synctest.Wait()
			close(rows.arrived)
			if rows.queries != maxReads+1 || r.busy != 0 || r.next != nil {
				t.Errorf("%d queries, %d under way in the end", rows.queries, r.busy)
			}
		})
	}
}

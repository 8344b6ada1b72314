package order

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// event is one call of a watcher's yield.
type event struct {
	Status  Status
	Changed bool
}

// watch follows order 66 of user 2 and returns what it is told; the channel is closed with the result in err.
func watch(ctx context.Context, p *deskParts, err *error) <-chan event {
	events := make(chan event, 100)
	go func() {
		defer close(events)
		*err = p.desk.Watch(ctx, 2, 66, func(o Order, changed bool) error {
			events <- event{o.Status, changed}
			return nil
		})
	}()
	return events
}

func TestWatchTellsEveryChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newDesk(t, DeskOptions{}, at(1, 0))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.room.Run(ctx) }()
		p.held[BuyerKey{voucherA, 2}] = 66
		var err error
		events := watch(t.Context(), p, &err)
		want := []event{{Queued, true}}
		for _, s := range []Status{Unpaid, Cancelled, Paid, Refunding, Refunded} {
			synctest.Wait()
			p.rows.put(Order{ID: 66, UserID: 2, VoucherID: voucherA, Status: s})
			if s == Paid {
				p.room.Told(map[int64]Status{66: s}) // this instance did it; all else others did
				synctest.Wait()
			} else {
				time.Sleep(watchEvery + time.Millisecond)
			}
			want = append(want, event{s, true})
		}
		var got []event
		for e := range events {
			got = append(got, e)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v, events (-want +got):\n%s", err, diff)
		}
		if len(p.room.queue)+len(p.room.stalls) != 0 {
			t.Error("a seat is left")
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.desk.admission.catalog.Close()
	})
}

// A connection on which nothing happens is stirred every fifteen seconds, also while the ledger is away.
func TestWatchIsStirred(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newDesk(t, DeskOptions{}, at(1, 0))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.room.Run(ctx) }()
		p.rows.put(Order{ID: 66, UserID: 2, VoucherID: voucherA, Status: Unpaid})
		var err error
		events := watch(ctx, p, &err)
		synctest.Wait()
		// The ledger goes away just when it has said that something happened.
		p.rows.mu.Lock()
		p.rows.away = true
		p.rows.mu.Unlock()
		p.room.Told(map[int64]Status{66: Paid})
		synctest.Wait()
		p.rows.mu.Lock()
		p.rows.away = false
		p.rows.mu.Unlock()
		time.Sleep(46*time.Second + 3*time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		var got []event
		for e := range events {
			got = append(got, e)
		}
		want := []event{{Unpaid, true}, {Unpaid, false}, {Unpaid, false}, {Unpaid, false}, {Unpaid, false}}
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, events (-want +got):\n%s", err, diff)
		}
		p.desk.admission.catalog.Close()
	})
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	errFull := errors.New("cannot write")
	for name, tc := range map[string]struct {
		row   Order
		away  bool
		yield error
		want  error
		calls int
	}{
		"a final order is told once":   {row: Order{ID: 66, UserID: 2, Status: Failed}, calls: 1},
		"somebody else's order":        {row: Order{ID: 66, UserID: 3, Status: Unpaid}, want: ErrNotFound},
		"no such order":                {want: ErrNotFound},
		"the ledger is away":           {away: true, want: ErrUnavailable},
		"the caller cannot be told":    {row: Order{ID: 66, UserID: 2, Status: Unpaid}, yield: errFull, want: errFull, calls: 1},
		"the process is going to stop": {row: Order{ID: 66, UserID: 2, Status: Unpaid}, want: ErrDismissed, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDesk(t, DeskOptions{}, at(1, 0))
			if tc.row.ID != 0 {
				p.rows.put(tc.row)
			}
			p.rows.away = tc.away
			p.room.Dismiss() // who has nothing to wait for is answered all the same
			calls := 0
			err := p.desk.Watch(t.Context(), 2, 66, func(Order, bool) error { calls++; return tc.yield })
			if !errors.Is(err, tc.want) || calls != tc.calls {
				t.Errorf("error %v after %d calls, want %v after %d", err, calls, tc.want, tc.calls)
			}
		})
	}
}

// Where Redis keeps nothing, an order is not shown before it has its row.
func TestWatchWaitsForTheRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newDesk(t, DeskOptions{WaitForRow: true}, at(1, 0))
		p.held[BuyerKey{voucherA, 2}] = 66
		ctx, stop := context.WithCancel(t.Context())
		var err error
		events := watch(ctx, p, &err)
		synctest.Wait()
		if len(events) != 0 {
			t.Errorf("told of %v before it has a row", <-events)
		}
		p.rows.put(Order{ID: 66, UserID: 2, VoucherID: voucherA, Status: Unpaid})
		p.room.Told(map[int64]Status{66: Unpaid})
		if e := <-events; e != (event{Unpaid, true}) {
			t.Errorf("told %+v", e)
		}
		stop()
		synctest.Wait()
		p.desk.admission.catalog.Close()
	})
}

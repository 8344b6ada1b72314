package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

// event is one call of a watcher's yield.
type event struct {
	Status  order.Status
	Changed bool
}

// watch watches user 2's order 66 and returns the calls of yield. When Watch has returned, its error is in err and the
// channel is closed.
func watch(ctx context.Context, p *purchaseParts, err *error) <-chan event {
	events := make(chan event, 100)
	go func() {
		defer close(events)
		*err = p.purchases.Watch(ctx, 2, 66, func(o order.Order, changed bool) error {
			events <- event{o.Status, changed}
			return nil
		})
	}()
	return events
}

func TestWatchYieldsEveryChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.notifier.Run(ctx) }()
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
		var err error
		events := watch(t.Context(), p, &err)
		want := []event{{order.Queued, true}}
		for _, s := range []order.Status{order.Unpaid, order.Cancelled, order.Paid, order.Refunding, order.Refunded} {
			synctest.Wait()
			p.rows.Put(order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: s})
			if s == order.Paid {
				p.notifier.Notify(map[int64]order.Status{66: s}) // this instance made this change, others the rest
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
		if len(p.notifier.unrecorded)+len(p.notifier.recorded) != 0 {
			t.Error("a subscription is left over")
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.catalog.Close()
	})
}

// A watcher is called every fifteen seconds when nothing happens, even while the ledger is away.
func TestWatchTicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.notifier.Run(ctx) }()
		p.rows.Put(order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid})
		var err error
		events := watch(ctx, p, &err)
		synctest.Wait()
		// The ledger goes away just after it has reported a change.
		p.rows.Mu.Lock()
		p.rows.Away = true
		p.rows.Mu.Unlock()
		p.notifier.Notify(map[int64]order.Status{66: order.Paid})
		synctest.Wait()
		p.rows.Mu.Lock()
		p.rows.Away = false
		p.rows.Mu.Unlock()
		time.Sleep(46*time.Second + 3*time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		var got []event
		for e := range events {
			got = append(got, e)
		}
		want := []event{{order.Unpaid, true}, {order.Unpaid, false}, {order.Unpaid, false}, {
			order.Unpaid, false,
		}, {order.Unpaid, false}}
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, events (-want +got):\n%s", err, diff)
		}
		p.catalog.Close()
	})
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	errFull := errors.New("cannot write")
	for name, tc := range map[string]struct {
		row   order.Order
		away  bool
		yield error
		want  error
		calls int
	}{
		"a final order comes once": {row: order.Order{ID: 66, UserID: 2, Status: order.Failed}, calls: 1},
		"somebody else's order": {
			row: order.Order{ID: 66, UserID: 3, Status: order.Unpaid}, want: order.ErrNotFound,
		},
		"no such order":      {want: order.ErrNotFound},
		"the ledger is away": {away: true, want: order.ErrUnavailable},
		"the caller cannot write": {
			row: order.Order{ID: 66, UserID: 2, Status: order.Unpaid}, yield: errFull, want: errFull, calls: 1,
		},
		"the process is going to stop": {
			row: order.Order{ID: 66, UserID: 2, Status: order.Unpaid}, want: order.ErrStopping, calls: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
			if tc.row.ID != 0 {
				p.rows.Put(tc.row)
			}
			p.rows.Away = tc.away
			p.notifier.Close() // a caller with nothing to wait for gets an answer all the same
			calls := 0
			err := p.purchases.Watch(t.Context(), 2, 66, func(order.Order, bool) error { calls++; return tc.yield })
			if !errors.Is(err, tc.want) || calls != tc.calls {
				t.Errorf("error %v after %d calls, want %v after %d", err, calls, tc.want, tc.calls)
			}
		})
	}
}

// With a Redis that keeps nothing, a watcher does not see an order before it has its row.
func TestWatchWaitsForTheRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPurchases(t, PurchaseOptions{WaitForRow: true}, ordertest.VoucherAt(1, 0))
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
		ctx, stop := context.WithCancel(t.Context())
		var err error
		events := watch(ctx, p, &err)
		synctest.Wait()
		if len(events) != 0 {
			t.Errorf("yielded %v before it has a row", <-events)
		}
		p.rows.Put(order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid})
		p.notifier.Notify(map[int64]order.Status{66: order.Unpaid})
		if e := <-events; e != (event{order.Unpaid, true}) {
			t.Errorf("yielded %+v", e)
		}
		stop()
		synctest.Wait()
		p.catalog.Close()
	})
}

// One call watches all orders that may change without their user, until none is left, and only those.
func TestWatchAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan error)
		go func() { done <- p.notifier.Run(ctx) }()
		put := func(id int64, s order.Status) {
			p.rows.Put(order.Order{ID: id, UserID: 2, VoucherID: ordertest.VoucherB, Status: s})
		}
		for id, s := range map[int64]order.Status{
			61: order.Redeemed, 62: order.Cancelled, 63: order.Failed, 64: order.Paid, 65: order.Unpaid,
		} {
			put(id, s)
		}
		p.rows.Put(order.Order{ID: 60, UserID: 3, VoucherID: ordertest.VoucherB, Status: order.Unpaid})
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
		var got []string
		var err error
		watching := make(chan struct{})
		go func() {
			defer close(watching)
			err = p.purchases.WatchAll(ctx, 2, func(o order.Order, changed bool) error {
				if !changed {
					o.ID = 0
				}
				got = append(got, fmt.Sprint(o.ID, o.Status))
				return nil
			})
		}()
		wantEvents(t, &got, "66 queued", "65 unpaid", "64 paid")
		p.rows.Put(order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid})
		time.Sleep(2 * pollEvery)
		wantEvents(t, &got, "66 unpaid")
		put(65, order.Paid) // by this instance
		p.notifier.Notify(map[int64]order.Status{65: order.Paid, 64: order.Paid, 60: order.Paid})
		wantEvents(t, &got, "65 paid")
		put(64, order.Redeemed) // by another one
		time.Sleep(watchEvery)
		wantEvents(t, &got, "64 redeemed")
		p.rows.Mu.Lock()
		p.rows.Away = true
		p.rows.Mu.Unlock()
		p.notifier.Notify(map[int64]order.Status{65: order.Refunding})
		time.Sleep(watchTick)
		wantEvents(t, &got, "0 queued")
		put(65, order.Refunded)
		put(66, order.Cancelled)
		p.rows.Mu.Lock()
		p.rows.Away = false
		p.rows.Mu.Unlock()
		<-watching
		slices.Sort(got)
		wantEvents(t, &got, "65 refunded", "66 cancelled")
		if err != nil || len(p.notifier.unrecorded)+len(p.notifier.recorded) != 0 {
			t.Errorf("error %v, %d subscriptions left over", err, len(p.notifier.recorded))
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.catalog.Close()
	})
}

// wantEvents checks what has been yielded once all is quiet, and forgets it.
func wantEvents(t *testing.T, got *[]string, want ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("yielded (-want +got):\n%s", diff)
	}
	*got = nil
}

func TestWatchAllEnds(t *testing.T) {
	t.Parallel()
	errFull := errors.New("cannot write")
	for name, tc := range map[string]struct {
		status order.Status
		away   bool
		yield  error
		want   error
		calls  int
	}{
		"nothing can change":           {status: order.Redeemed},
		"the ledger is away":           {status: order.Unpaid, away: true, want: order.ErrUnavailable},
		"the caller cannot write":      {status: order.Unpaid, yield: errFull, want: errFull, calls: 1},
		"the process is going to stop": {status: order.Unpaid, want: order.ErrStopping, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
			p.rows.Put(order.Order{ID: 66, UserID: 2, Status: tc.status})
			p.rows.Away = tc.away
			p.notifier.Close()
			calls := 0
			err := p.purchases.WatchAll(t.Context(), 2, func(order.Order, bool) error { calls++; return tc.yield })
			if !errors.Is(err, tc.want) || calls != tc.calls {
				t.Errorf("error %v after %d calls, want %v after %d", err, calls, tc.want, tc.calls)
			}
		})
	}
}

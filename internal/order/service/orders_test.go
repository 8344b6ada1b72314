package service

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	unpaid := order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid}
	in := func(s order.Status) order.Order { o := unpaid; o.Status = s; return o }
	for name, tc := range map[string]struct {
		row     order.Order
		before  string // a step that fails first
		after   string // a step whose answer is lost first
		want    error
		flushes int
	}{
		"an unpaid order":   {row: in(order.Unpaid), flushes: 1},
		"cancelled already": {row: in(order.Cancelled)},
		"a paid one": {
			row: in(order.Paid), want: &order.StateError{OrderID: 66, Status: order.Paid, Action: order.Cancel},
		},
		"a failed one": {
			row: in(order.Failed), want: &order.StateError{OrderID: 66, Status: order.Failed, Action: order.Cancel},
		},
		"somebody else's": {row: order.Order{
			ID: 66, UserID: 3, VoucherID: ordertest.VoucherA, Status: order.Unpaid,
		}, want: order.ErrNotFound},
		"no such order":               {want: order.ErrNotFound},
		"the ledger is away":          {row: in(order.Unpaid), before: "move", want: order.ErrUnavailable},
		"the ledger's answer is lost": {row: in(order.Unpaid), after: "move", want: order.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newOrderParts(t, tc.row)
			p.ledger.Before[tc.before], p.ledger.After[tc.after] = 1, 1
			o, err := p.orders.Cancel(t.Context(), 2, 66)
			if state, is := errors.AsType[*order.StateError](tc.want); is {
				if diff := cmp.Diff(error(state), err); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
			} else if !errors.Is(err, tc.want) || tc.want == nil && o.Status != order.Cancelled {
				t.Errorf("order %+v, %v; want it cancelled, or %v", o, err, tc.want)
			}
			if len(p.outbox.flushes) != tc.flushes {
				t.Errorf("%d flushes, want %d", len(p.outbox.flushes), tc.flushes)
			}
			if tc.after != "" { // the buyer tries again
				if o, err := p.orders.Cancel(t.Context(), 2, 66); err != nil || o.Status != order.Cancelled {
					t.Errorf("repeated: %+v, %v", o, err)
				}
			}
		})
	}
}

func TestCancelNotifiesWatchers(t *testing.T) {
	t.Parallel()
	p := newOrderParts(t, order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid})
	s := p.notifier.Subscribe(66)
	defer s.Cancel()
	if _, err := p.orders.Cancel(t.Context(), 2, 66); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Wait(t.Context(), order.Unpaid); err != nil || got != order.Cancelled {
		t.Errorf("notified of %s, %v", got, err)
	}
}

// A queued order is cancelled once it has its row; one that gets no row in time is not cancelled.
func TestCancelWaitsForTheRow(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]order.Status{
		"recorded": order.Unpaid, "it failed": order.Failed, "it takes too long": order.Queued,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newOrderParts(t)
				p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
				p.outbox.hang = true // Redis applies nothing, and the answer does not wait long for it
				start := time.Now()
				if recorded != order.Queued {
					time.AfterFunc(5*time.Second, func() {
						p.ledger.rows.Put(order.Order{
							ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: recorded,
						})
						p.notifier.Notify(map[int64]order.Status{66: recorded})
					})
				}
				o, err := p.orders.Cancel(t.Context(), 2, 66)
				var state *order.StateError
				switch took := time.Since(start); recorded {
				case order.Unpaid:
					if err != nil || o.Status != order.Cancelled || took != 5*time.Second+flushTimeout {
						t.Errorf("%+v, %v after %v", o, err, took)
					}
				case order.Failed:
					if !errors.As(err, &state) || state.Status != order.Failed {
						t.Errorf("error = %v, want the state", err)
					}
				default:
					if !errors.Is(err, order.ErrUnavailable) || took != rowTimeout {
						t.Errorf("error %v after %v, want ErrUnavailable after %v", err, took, rowTimeout)
					}
				}
				p.catalog.Close()
			})
		})
	}
}

func TestHistoryBeginsWithWhatFollowsFromTheOrder(t *testing.T) {
	t.Parallel()
	made, recorded := ordertest.Begin.Add(66*time.Second), ordertest.Begin.Add(67*time.Second)
	accepted := order.Event{Status: order.Queued, At: made, By: order.Owner}
	cancelled := order.Event{Status: order.Cancelled, By: order.ByExpirer, Why: "not paid for in time"}
	for name, tc := range map[string]struct {
		order order.Order
		since []order.Event
		want  []order.Event
	}{
		"queued": {
			order: order.Order{Status: order.Queued}, since: []order.Event{cancelled}, want: []order.Event{accepted},
		},
		"recorded": {order: order.Order{Status: order.Unpaid, CreatedAt: recorded}, want: []order.Event{
			accepted, {Status: order.Unpaid, At: recorded, By: order.ByRecorder},
		}},
		"since": {
			order: order.Order{Status: order.Cancelled, CreatedAt: recorded}, since: []order.Event{cancelled},
			want: []order.Event{accepted, {Status: order.Unpaid, At: recorded, By: order.ByRecorder}, cancelled},
		},
		"failed": {order: order.Order{
			Status: order.Failed, Reason: reason.NoStock, CreatedAt: recorded, FailedAt: recorded,
		}, want: []order.Event{accepted, {Status: order.Failed, At: recorded, By: order.ByRecorder, Why: "NO_STOCK"}}},
		"bought directly": {
			order: order.Order{VoucherID: ordertest.VoucherB, Status: order.Cancelled, CreatedAt: recorded},
			since: []order.Event{cancelled},
			want:  []order.Event{{Status: order.Unpaid, At: recorded, By: order.Owner}, cancelled},
		},
		"of a voucher that does not exist": {
			order: order.Order{VoucherID: 404, Status: order.Failed, Reason: reason.UnknownVoucher, FailedAt: recorded},
			want: []order.Event{
				accepted, {Status: order.Failed, At: recorded, By: order.ByRecorder, Why: "UNKNOWN_VOUCHER"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.order.ID = 66; tc.order.VoucherID == 0 {
				tc.order.VoucherID = ordertest.VoucherA
			}
			p := newOrderParts(t)
			p.ledger.history[66] = tc.since
			got, err := p.orders.History(t.Context(), tc.order)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v, history (-want +got):\n%s", err, diff)
			}
		})
	}
	p := newOrderParts(t)
	p.ledger.Before["history"] = 1
	if _, err := p.orders.History(t.Context(), order.Order{
		ID: 66, VoucherID: ordertest.VoucherA, Status: order.Unpaid,
	}); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
}

func TestFindForAdmins(t *testing.T) {
	t.Parallel()
	p := newOrderParts(t, order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid},
		order.Order{ID: 67, UserID: 3, VoucherID: ordertest.VoucherA, Status: order.Paid})
	find := func(f order.Filter, before int64) int {
		orders, err := p.orders.Find(t.Context(), f, before, 10)
		if err != nil {
			t.Error(err)
		}
		return len(orders)
	}
	for name, tc := range map[string]struct {
		f      order.Filter
		before int64
		want   int
	}{
		"all": {want: 2}, "a user's": {f: order.Filter{UserID: 3}, want: 1},
		"a status": {f: order.Filter{Status: order.Unpaid}, want: 1},
		"a page":   {before: 67, want: 1}, "queued ones have no row": {f: order.Filter{Waiting: true}},
	} {
		if got := find(tc.f, tc.before); got != tc.want {
			t.Errorf("%s: %d orders, want %d", name, got, tc.want)
		}
	}
	if o, err := p.orders.Order(t.Context(), 67); err != nil || o.UserID != 3 {
		t.Errorf("order 67: %+v, %v", o, err)
	}
	if _, err := p.orders.Order(t.Context(), 68); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("order 68: %v", err)
	}
	p.ledger.Before["find"] = 1
	if _, err := p.orders.Find(t.Context(), order.Filter{}, 0, 10); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
}

// A store's answer is passed on as it is; a fault that prevents an answer becomes ErrUnavailable.
func TestAnswersAndFaultsDiffer(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		order.ErrNotFound, payment.ErrNotFound, payment.ErrWrongAmount, order.ErrSeckill,
		idempotency.ErrReused, idempotency.ErrGone,
		&order.StateError{OrderID: 1}, &order.LimitError{PerUser: 1}, &order.NotNowError{Why: ordertest.ErrAway},
	} {
		if got := order.OrUnavailable(err); errors.Is(got, order.ErrUnavailable) {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, err := range []error{ordertest.ErrAway, context.DeadlineExceeded, order.ErrUnavailable} {
		if got := order.OrUnavailable(err); !errors.Is(got, order.ErrUnavailable) || !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if order.OrUnavailable(nil) != nil {
		t.Error("nil became an error")
	}
}

// Staff see a queued order as its buyer does, and act on it as the buyer would.
func TestStaffMeetAQueuedOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
		o, err := p.orders.Order(t.Context(), 66)
		if err != nil || o.Status != order.Queued || o.UserID != 2 || o.VoucherID != ordertest.VoucherA {
			t.Errorf("staff see %+v, %v", o, err)
		}
		if _, err := p.orders.Order(t.Context(), 67); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("no order: %v", err)
		}
		act := order.StaffAct{OrderID: 66, Why: "closed"}
		var state *order.StateError
		if _, err := p.payments.RefundForStaff(t.Context(), act); !errors.As(err, &state) ||
			state.Status != order.Queued {
			t.Errorf("refunding: %v, want that it is queued", err)
		}
		time.AfterFunc(5*time.Second, func() {
			p.ledger.rows.Put(order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid})
			p.notifier.Notify(map[int64]order.Status{66: order.Unpaid})
		})
		start := time.Now()
		if o, err = p.orders.CancelForStaff(t.Context(), act); err != nil || o.Status != order.Cancelled {
			t.Errorf("cancelling: %+v, %v after %v", o, err, time.Since(start))
		}
		p.catalog.Close()
	})
}

// While Redis does not say whether an order waits, staff are not told that there is none.
func TestStaffWhileRedisHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		p.lookup.stores.Holdings = hangingHoldings{FakeHolders: p.holders}
		if _, err := p.orders.Order(t.Context(), 66); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%v, want ErrUnavailable", err)
		}
		p.catalog.Close()
	})
}

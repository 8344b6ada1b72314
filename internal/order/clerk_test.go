package order

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	unpaid := Order{ID: 66, UserID: 2, VoucherID: voucherA, Status: Unpaid}
	in := func(s Status) Order { o := unpaid; o.Status = s; return o }
	for name, tc := range map[string]struct {
		row     Order
		before  string // a step that fails first
		after   string // a step whose answer is lost first
		want    error
		follows int
	}{
		"an unpaid order":           {row: in(Unpaid), follows: 1},
		"cancelled already":         {row: in(Cancelled)},
		"a paid one":                {row: in(Paid), want: &StateError{OrderID: 66, Status: Paid, Action: Cancel}},
		"a failed one":              {row: in(Failed), want: &StateError{OrderID: 66, Status: Failed, Action: Cancel}},
		"somebody else's":           {row: Order{ID: 66, UserID: 3, VoucherID: voucherA, Status: Unpaid}, want: ErrNotFound},
		"no such order":             {want: ErrNotFound},
		"the ledger is away":        {row: in(Unpaid), before: "move", want: ErrUnavailable},
		"the ledger's word is lost": {row: in(Unpaid), after: "move", want: ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newLife(t, tc.row)
			p.life.before[tc.before], p.life.after[tc.after] = 1, 1
			o, err := p.clerk.Cancel(t.Context(), 2, 66)
			if state, is := errors.AsType[*StateError](tc.want); is {
				if diff := cmp.Diff(error(state), err); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
			} else if !errors.Is(err, tc.want) || tc.want == nil && o.Status != Cancelled {
				t.Errorf("order %+v, %v; want it cancelled, or %v", o, err, tc.want)
			}
			if len(p.outbox.follows) != tc.follows {
				t.Errorf("Redis was to follow %d times, want %d", len(p.outbox.follows), tc.follows)
			}
			if tc.after != "" { // what he does then
				if o, err := p.clerk.Cancel(t.Context(), 2, 66); err != nil || o.Status != Cancelled {
					t.Errorf("repeated: %+v, %v", o, err)
				}
			}
		})
	}
}

func TestCancelTellsWhoWatches(t *testing.T) {
	t.Parallel()
	p := newLife(t, Order{ID: 66, UserID: 2, VoucherID: voucherA, Status: Unpaid})
	s := p.room.Enter(66)
	defer s.Leave()
	if _, err := p.clerk.Cancel(t.Context(), 2, 66); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Wait(t.Context(), Unpaid); err != nil || got != Cancelled {
		t.Errorf("told %s, %v", got, err)
	}
}

// A queued order is cancelled once it has its row; one that gets none in time is not.
func TestCancelWaitsForTheRow(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]Status{"recorded": Unpaid, "it failed": Failed, "it takes too long": Queued} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newLife(t)
				p.held[BuyerKey{voucherA, 2}] = 66
				p.outbox.hang = true // Redis does not follow: the answer does not wait for long
				start := time.Now()
				if recorded != Queued {
					time.AfterFunc(5*time.Second, func() {
						p.life.rows.put(Order{ID: 66, UserID: 2, VoucherID: voucherA, Status: recorded})
						p.room.Told(map[int64]Status{66: recorded})
					})
				}
				o, err := p.clerk.Cancel(t.Context(), 2, 66)
				var state *StateError
				switch took := time.Since(start); recorded {
				case Unpaid:
					if err != nil || o.Status != Cancelled || took != 5*time.Second+followTime {
						t.Errorf("%+v, %v after %v", o, err, took)
					}
				case Failed:
					if !errors.As(err, &state) || state.Status != Failed {
						t.Errorf("error = %v, want the state", err)
					}
				default:
					if !errors.Is(err, ErrUnavailable) || took != rowTime {
						t.Errorf("error %v after %v, want ErrUnavailable after %v", err, took, rowTime)
					}
				}
				p.catalog.Close()
			})
		})
	}
}

func TestHistoryBeginsWithWhatFollowsFromTheOrder(t *testing.T) {
	t.Parallel()
	made, recorded := begin.Add(66*time.Second), begin.Add(67*time.Second)
	accepted := Event{Status: Queued, At: made, By: Owner}
	cancelled := Event{Status: Cancelled, By: ByCloser, Why: "not paid for in time"}
	for name, tc := range map[string]struct {
		order Order
		since []Event
		want  []Event
	}{
		"queued":   {order: Order{Status: Queued}, since: []Event{cancelled}, want: []Event{accepted}},
		"recorded": {order: Order{Status: Unpaid, CreatedAt: recorded}, want: []Event{accepted, {Status: Unpaid, At: recorded, By: ByRecorder}}},
		"since":    {order: Order{Status: Cancelled, CreatedAt: recorded}, since: []Event{cancelled}, want: []Event{accepted, {Status: Unpaid, At: recorded, By: ByRecorder}, cancelled}},
		"failed":   {order: Order{Status: Failed, Reason: NoStock, CreatedAt: recorded, FailedAt: recorded}, want: []Event{accepted, {Status: Failed, At: recorded, By: ByRecorder, Why: "NO_STOCK"}}},
		"bought freely": {
			order: Order{VoucherID: voucherB, Status: Cancelled, CreatedAt: recorded}, since: []Event{cancelled},
			want: []Event{{Status: Unpaid, At: recorded, By: Owner}, cancelled},
		},
		"of a voucher that never was": {
			order: Order{VoucherID: 404, Status: Failed, Reason: UnknownVoucher, FailedAt: recorded},
			want:  []Event{accepted, {Status: Failed, At: recorded, By: ByRecorder, Why: "UNKNOWN_VOUCHER"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.order.ID = 66; tc.order.VoucherID == 0 {
				tc.order.VoucherID = voucherA
			}
			p := newLife(t)
			p.life.history[66] = tc.since
			got, err := p.clerk.History(t.Context(), tc.order)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v, history (-want +got):\n%s", err, diff)
			}
		})
	}
	p := newLife(t)
	p.life.before["history"] = 1
	if _, err := p.clerk.History(t.Context(), Order{ID: 66, VoucherID: voucherA, Status: Unpaid}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
}

func TestFindForAdmins(t *testing.T) {
	t.Parallel()
	p := newLife(t, Order{ID: 66, UserID: 2, VoucherID: voucherA, Status: Unpaid}, Order{ID: 67, UserID: 3, VoucherID: voucherA, Status: Paid})
	find := func(f Filter, before int64) int {
		orders, err := p.clerk.Find(t.Context(), f, before, 10)
		if err != nil {
			t.Error(err)
		}
		return len(orders)
	}
	for name, tc := range map[string]struct {
		f      Filter
		before int64
		want   int
	}{
		"all": {want: 2}, "a user's": {f: Filter{UserID: 3}, want: 1}, "a status": {f: Filter{Status: Unpaid}, want: 1},
		"a page": {before: 67, want: 1}, "queued ones have no row": {f: Filter{Waiting: true}},
	} {
		if got := find(tc.f, tc.before); got != tc.want {
			t.Errorf("%s: %d orders, want %d", name, got, tc.want)
		}
	}
	if o, err := p.clerk.Order(t.Context(), 67); err != nil || o.UserID != 3 {
		t.Errorf("order 67: %+v, %v", o, err)
	}
	if _, err := p.clerk.Order(t.Context(), 68); !errors.Is(err, ErrNotFound) {
		t.Errorf("order 68: %v", err)
	}
	p.life.before["find"] = 1
	if _, err := p.clerk.Find(t.Context(), Filter{}, 0, 10); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
}

// What a store says is passed on; what keeps it from saying anything is ErrUnavailable.
func TestAnswersAreToldFromFaults(t *testing.T) {
	t.Parallel()
	for _, err := range []error{ErrNotFound, ErrNoPayment, ErrWrongAmount, ErrKeyReused, ErrSeckill, &StateError{OrderID: 1}} {
		if got := orUnavailable(err); errors.Is(got, ErrUnavailable) {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, err := range []error{errAway, context.DeadlineExceeded, ErrUnavailable} {
		if got := orUnavailable(err); !errors.Is(got, ErrUnavailable) || !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if orUnavailable(nil) != nil {
		t.Error("no error became one")
	}
}

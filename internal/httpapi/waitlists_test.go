package httpapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"seckill/internal/order/waitlist"
	"seckill/internal/voucher"
)

// fakeWaitlists answer everything with a place, or with an error.
type fakeWaitlists struct {
	place waitlist.Place
	err   error
}

func (f fakeWaitlists) Join(context.Context, int64, voucher.Voucher) (waitlist.Place, error) {
	return f.place, f.err
}

func (f fakeWaitlists) Accept(context.Context, int64, voucher.Voucher) (waitlist.Place, error) {
	return f.place, f.err
}

func (f fakeWaitlists) Leave(context.Context, int64, int64) (waitlist.Place, error) {
	return f.place, f.err
}

func (f fakeWaitlists) Place(context.Context, int64, int64) (waitlist.Place, error) {
	return f.place, f.err
}

func (f fakeWaitlists) Places(context.Context, int64) ([]waitlist.Place, error) {
	if f.place.VoucherID == 0 {
		return nil, f.err
	}
	return []waitlist.Place{f.place, f.place}, f.err
}

func (f fakeWaitlists) Counts(context.Context, voucher.Voucher) (waitlist.Counts, error) {
	return waitlist.Counts{Waiting: 3, Offered: 2}, f.err
}

// A place is shown with what its user can do with it, and without its position, which would tell how many have joined.
func TestPlaceAnswers(t *testing.T) {
	t.Parallel()
	until := noon.Add(time.Minute)
	for name, test := range map[string]struct {
		place  waitlist.Place
		status int
		want   string
	}{
		"waiting": {
			waitlist.Place{State: waitlist.Waiting},
			http.StatusCreated,
			`{"success":true,"data":{"voucherId":5,"state":"waiting","ahead":0,"joinTime":"2026-01-02T12:00:00Z",` +
				`"askAgainSeconds":2}}`,
		},
		"far behind": {
			waitlist.Place{State: waitlist.Waiting, Ahead: waitlist.MaxCounted},
			http.StatusCreated,
			`{"success":true,"data":{"voucherId":5,"state":"waiting","ahead":1000,"aheadMore":true,` +
				`"joinTime":"2026-01-02T12:00:00Z","askAgainSeconds":60}}`,
		},
		"offered": {
			waitlist.Place{State: waitlist.Offered, OfferedAt: noon, Deadline: until, Attempt: 2},
			http.StatusCreated,
			`{"success":true,"data":{"voucherId":5,"state":"offered","joinTime":"2026-01-02T12:00:00Z",` +
				`"offerTime":"2026-01-02T12:00:00Z","acceptBefore":"2026-01-02T12:01:00Z","askAgainSeconds":2}}`,
		},
	} {
		test.place.VoucherID, test.place.UserID, test.place.Position, test.place.JoinedAt = 5, buyerID, 4711, noon
		a := newAPI(t, func(cfg *setup) { cfg.Waitlists = fakeWaitlists{place: test.place} })
		w := do(t, a, request{method: http.MethodPost, target: "/voucher/5/waitlist"})
		if w.Code != test.status || w.Body.String() != test.want {
			t.Errorf("%s: %d %s\nwant %s", name, w.Code, w.Body, test.want)
		}
	}
}

// An accepted offer is an order, or about to become one; a user who has another order gets neither.
func TestAcceptAnswers(t *testing.T) {
	t.Parallel()
	for state, want := range map[waitlist.State]int{
		waitlist.Bought: http.StatusCreated, waitlist.Accepted: http.StatusAccepted,
		waitlist.Refused: http.StatusConflict,
	} {
		place := waitlist.Place{VoucherID: 5, UserID: buyerID, State: state, OrderID: orderID, JoinedAt: noon}
		a := newAPI(t, func(cfg *setup) { cfg.Waitlists = fakeWaitlists{place: place} })
		w := do(t, a, request{method: http.MethodPost, target: "/voucher/5/waitlist/accept"})
		if w.Code != want || (w.Header().Get("Location") != "") != (want != http.StatusConflict) {
			t.Errorf("%s: %d, Location %q", state, w.Code, w.Header().Get("Location"))
		}
	}
}

// Leaving without a place is answered alike for every voucher: a hidden one, which is not on any list, is not told from
// none.
func TestLeavingTellsNoHiddenVoucher(t *testing.T) {
	t.Parallel()
	answers := map[string]bool{}
	for _, err := range []error{waitlist.ErrNoPlace, voucher.ErrNotFound, voucher.ErrNotSeckill} {
		a := newAPI(t, func(cfg *setup) { cfg.Waitlists = fakeWaitlists{err: err} })
		w := do(t, a, request{method: http.MethodPost, target: "/voucher/5/waitlist/leave"})
		wantProblem(t, w, http.StatusNotFound, "NOT_FOUND")
		answers[w.Body.String()] = true
	}
	if len(answers) != 1 {
		t.Errorf("answers differ: %v", answers)
	}
}

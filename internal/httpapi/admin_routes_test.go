package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
)

func withClerk(f fakeClerk) func(*Config) { return func(cfg *Config) { cfg.Clerk = f } }

// history is what happened to an order that was paid too late.
func history() []order.Event {
	return []order.Event{
		{Status: order.Queued, At: noon, By: order.Owner},
		{Status: order.Unpaid, At: noon.Add(time.Millisecond + time.Microsecond).In(time.FixedZone("x", 3600)), By: order.ByRecorder},
		{Status: order.Cancelled, At: noon.Add(15 * time.Minute), By: order.ByCloser, Why: "not paid in time"},
	}
}

const historyDocument = `"history":[{"status":"queued","at":"2026-01-02T12:00:00Z","by":"owner"},` +
	`{"status":"unpaid","at":"2026-01-02T12:00:00.001Z","by":"recorder"},` +
	`{"status":"cancelled","at":"2026-01-02T12:15:00Z","by":"closer","why":"not paid in time"}]`

// An order that is asked for alone comes with its history: for its owner, and for admins.
func TestOrderWithHistory(t *testing.T) {
	t.Parallel()
	o := order.Order{
		ID: orderID, UserID: 43, VoucherID: 5, Status: order.Cancelled, Amount: 1000, CreatedAt: noon,
		PayBefore: noon.Add(15 * time.Minute), CancelledAt: noon.Add(15 * time.Minute),
	}
	owner := o
	owner.UserID = buyerID
	a := newAPI(t, withClerk(fakeClerk{
		order: func(id int64) (order.Order, error) {
			if id != orderID {
				return order.Order{}, order.ErrNotFound
			}
			return o, nil
		},
		history: func(of order.Order) ([]order.Event, error) {
			if of.ID != orderID {
				return nil, fmt.Errorf("asked for the history of %d", of.ID)
			}
			return history(), nil
		},
	}), withDesk(fakeDesk{order: foundOrder(owner)}))
	for target, userID := range map[string]string{"/order/660000000123456789": "42", "/admin/order/660000000123456789": "43"} {
		want := `{"success":true,"data":{"id":"660000000123456789","voucherId":5,"userId":` + userID + `,"status":"cancelled","amount":1000,` +
			`"createTime":"2026-01-02T12:00:00Z","payBefore":"2026-01-02T12:15:00Z","cancelTime":"2026-01-02T12:15:00Z",` + historyDocument + `}}`
		w := asBoth(t, a, target)
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", target, w.Code, diff)
		}
	}
	wantProblem(t, asAdmin(t, a, request{method: http.MethodGet, target: "/admin/order/5"}), http.StatusNotFound, "NOT_FOUND")
}

func TestFindOrders(t *testing.T) {
	t.Parallel()
	type asked struct {
		Filter order.Filter
		Before int64
		Limit  int
	}
	for query, want := range map[string]asked{
		"": {order.Filter{}, 9223372036854775807, 21},
		"?userId=42&voucherId=5&status=refunding&before=100&limit=7": {order.Filter{UserID: 42, VoucherID: 5, Status: order.Refunding}, 100, 8},
		"?status=failed": {order.Filter{Status: order.Failed}, 9223372036854775807, 21},
	} {
		var got asked
		a := newAPI(t, withClerk(fakeClerk{find: func(f order.Filter, before int64, limit int) ([]order.Order, error) {
			got = asked{f, before, limit}
			return nil, nil
		}}))
		w := asAdmin(t, a, request{method: http.MethodGet, target: "/admin/order" + query})
		if diff := cmp.Diff(want, got); diff != "" || w.Body.String() != `{"success":true,"data":[]}` {
			t.Errorf("%s: %d %s, asked (-want +got):\n%s", query, w.Code, w.Body, diff)
		}
	}
}

// Following next shows every order once, whoever's it is.
func TestFindOrderPages(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withClerk(fakeClerk{find: func(_ order.Filter, before int64, limit int) ([]order.Order, error) {
		var page []order.Order
		for id := min(before-1, 45); id > 0 && len(page) < limit; id-- {
			page = append(page, order.Order{ID: id, UserID: id})
		}
		return page, nil
	}}))
	var seen []string
	for next := ""; ; {
		target := "/admin/order?limit=15"
		if next != "" {
			target += "&before=" + next
		}
		p := readPage(t, asAdmin(t, a, request{method: http.MethodGet, target: target}))
		for _, o := range p.Data {
			seen = append(seen, o.ID)
		}
		if next = p.Next; next == "" {
			break
		}
	}
	if len(seen) != 45 || seen[0] != "45" || seen[44] != "1" {
		t.Errorf("seen %v", seen)
	}
}

func TestOrderFilterValues(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, target := range []string{"/order?", "/admin/order?"} {
		for query, field := range map[string]string{
			"status=": "status", "status=Paid": "status", "status=1": "status", "status=unknown": "status", "status=paid&status=paid": "status",
			"voucherId=0": "voucherId", "voucherId=x": "voucherId", "voucherId=9007199254740992": "voucherId", "voucherId=": "voucherId",
			"limit=0": "limit", "before=x": "before", "%zz": "query", "status=" + strings.Repeat("x", 1000): "status",
		} {
			got := wantProblem(t, asBoth(t, a, target+query), http.StatusBadRequest, "INVALID")
			if len(got.Errors) != 1 || got.Errors[0].Field != field || got.Errors[0].Allowed == "" || len(got.Errors[0].Reason) > 200 {
				t.Errorf("%s%s: %+v", target, query, got.Errors)
			}
		}
	}
	// Queued orders have no row: only their owner can be told of them. He asks for himself alone.
	for target, field := range map[string]string{"/admin/order?status=queued": "status", "/admin/order?userId=x": "userId", "/admin/order?userId=0": "userId"} {
		got := wantProblem(t, asBoth(t, a, target), http.StatusBadRequest, "INVALID")
		if len(got.Errors) != 1 || got.Errors[0].Field != field {
			t.Errorf("%s: %+v", target, got.Errors)
		}
	}
}

func TestAdminOrderErrors(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]string{order.ErrNotFound: "NOT_FOUND", order.ErrUnavailable: "UNAVAILABLE", errors.New("x"): "INTERNAL"} {
		a := newAPI(t, withClerk(fakeClerk{
			order: func(int64) (order.Order, error) { return order.Order{}, err },
			find:  func(order.Filter, int64, int) ([]order.Order, error) { return nil, err },
		}))
		for _, target := range []string{"/admin/order", "/admin/order/5"} {
			if got := read(t, asAdmin(t, a, request{method: http.MethodGet, target: target})); got.Code != code {
				t.Errorf("%s with %v: %s, want %s", target, err, got.Code, code)
			}
		}
	}
	// An order is not shown with half its history.
	a := newAPI(t, withClerk(fakeClerk{
		order:   func(int64) (order.Order, error) { return order.Order{ID: 5}, nil },
		history: func(order.Order) ([]order.Event, error) { return nil, order.ErrUnavailable },
	}), withDesk(fakeDesk{order: foundOrder(order.Order{ID: 5})}))
	for _, target := range []string{"/admin/order/5", "/order/5"} {
		wantProblem(t, asBoth(t, a, target), http.StatusServiceUnavailable, "UNAVAILABLE")
	}
}

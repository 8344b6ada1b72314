package shop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/idworker"
	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/testkit/apitest"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withOrders(fakeOrders{OnCancel: func(userID, id int64) (order.Order, error) {
		if userID != buyerID || id != orderID {
			return order.Order{}, fmt.Errorf("called with %d, %d", userID, id)
		}
		return order.Order{
			ID: id, UserID: userID, VoucherID: 5, Status: order.Cancelled, Amount: 1000,
			CreatedAt: noon, CancelledAt: noon,
		}, nil
	}}))
	want := `{"success":true,"data":{"id":"660000000123456789",` +
		`"voucherId":5,"userId":42,"status":"cancelled","amount":1000,"currency":"CNY",` +
		`"createTime":"2026-01-02T12:00:00.000Z","cancelTime":"2026-01-02T12:00:00.000Z"}}`
	for range 2 {
		w := do(t, a, request{Method: http.MethodPost, Target: "/order/660000000123456789/cancel"})
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, diff)
		}
	}
}

// A filter that a list does not know is refused: without it the list would show what nobody asked for.
func TestUnknownFilters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for target, field := range map[string]string{
		"/order?userId=43":                         "userId",
		"/order?status=paid&voucherID=5":           "voucherID",
		"/admin/order?user=43":                     "user",
		"/admin/order?userId=43&after=5":           "after",
		"/admin/voucher?status=2":                  "status",
		"/admin/audit?orderId=5":                   "orderId",
		"/admin/deadletter?before=5":               "before",
		"/order?" + strings.Repeat("x", 100) + "=": strings.Repeat("x", 64) + "…",
	} {
		w := asAdmin(t, a, request{Method: http.MethodGet, Target: target})
		p := wantProblem(t, w, http.StatusBadRequest, "INVALID")
		if len(p.Errors) != 1 || p.Errors[0].Field != field || p.Errors[0].Allowed == "" {
			t.Errorf("%.60s: %+v", target, p.Errors)
		}
	}
}

// Buyers filter their own orders, the queued ones too.
func TestOrderFilter(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]order.Filter{
		"":                             {UserID: buyerID},
		"?status=unpaid":               {UserID: buyerID, Status: order.Unpaid},
		"?status=queued":               {UserID: buyerID, Waiting: true},
		"?status=refunded&voucherId=5": {UserID: buyerID, VoucherID: 5, Status: order.Refunded},
		"?voucherId=9007199254740991":  {UserID: buyerID, VoucherID: 9007199254740991},
	} {
		var got order.Filter
		a := newAPI(t, withPurchases(fakePurchases{
			OnOrders: func(_ context.Context, f order.Filter, _ int64, _ int) ([]order.Order, int64, error) {
				got = f
				return nil, 0, nil
			},
		}))
		w := do(t, a, request{Method: http.MethodGet, Target: "/order" + query})
		if diff := cmp.Diff(want, got); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%s: %d, filter (-want +got):\n%s", query, w.Code, diff)
		}
	}
}

// Golden documents: what clients have built upon.
func TestOrderDocuments(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time {
		return noon.Add(time.Duration(minutes) * time.Minute).In(time.FixedZone("x", 3600))
	}
	for _, c := range []struct {
		order order.Order
		want  string
	}{
		{
			order.Order{ID: orderID, UserID: buyerID, VoucherID: 5},
			`{"id":"660000000123456789","voucherId":5,"userId":42,"status":"queued","currency":"CNY"}`,
		},
		{
			order.Order{ID: 1, UserID: buyerID, VoucherID: 5, Status: order.Unpaid, CreatedAt: at(0)},
			`{"id":"1","voucherId":5,"userId":42,"status":"unpaid","amount":0,"currency":"CNY",` +
				`"createTime":"2026-01-02T12:00:00.000Z"}`,
		},
		{
			order.Order{
				ID: math.MaxInt64, UserID: buyerID, VoucherID: 5, Status: order.Refunded, Amount: 1000,
				CreatedAt: at(0), PaidAt: at(1), RedeemedAt: at(2), CancelledAt: at(3), RefundingAt: at(4),
				RefundedAt: at(5).Add(7*time.Millisecond + 900*time.Microsecond),
			},
			`{"id":"9223372036854775807","voucherId":5,` +
				`"userId":42,"status":"refunded","amount":1000,"currency":"CNY",` +
				`"createTime":"2026-01-02T12:00:00.000Z",` +
				`"payTime":"2026-01-02T12:01:00.000Z","redeemTime":"2026-01-02T12:02:00.000Z",` +
				`"cancelTime":"2026-01-02T12:03:00.000Z",` +
				`"refundingTime":"2026-01-02T12:04:00.000Z","refundTime":"2026-01-02T12:05:00.007Z"}`,
		},
		{
			order.Order{
				ID: 1, UserID: buyerID, VoucherID: 5, Status: order.Failed, Reason: reason.NoStock,
				CreatedAt: at(0), FailedAt: at(0),
			},
			`{"id":"1","voucherId":5,"userId":42,"status":"failed","currency":"CNY","reason":"NO_STOCK",` +
				`"createTime":"2026-01-02T12:00:00.000Z","failTime":"2026-01-02T12:00:00.000Z"}`,
		},
	} {
		t.Run(c.order.Status.String(), func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, withPurchases(fakePurchases{
				OnOrder: func(_ context.Context, userID, id int64, _ time.Duration) (order.Order, error) {
					if userID != buyerID || id != c.order.ID {
						return order.Order{}, fmt.Errorf("asked for order %d of user %d", id, userID)
					}
					return c.order, nil
				},
				OnOrders: func(context.Context, order.Filter, int64, int) ([]order.Order, int64, error) {
					return []order.Order{c.order}, 1, nil
				},
			}))
			w := do(t, a, request{Method: http.MethodGet, Target: fmt.Sprintf("/order/%d", c.order.ID)})
			if diff := cmp.Diff(`{"success":true,"data":`+c.want+`}`, w.Body.String()); diff != "" ||
				w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, diff)
			}
			w = do(t, a, request{Method: http.MethodGet, Target: "/order"})
			if diff := cmp.Diff(`{"success":true,"data":[`+c.want+`],"total":1}`, w.Body.String()); diff != "" {
				t.Error(diff)
			}
			if got := w.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control is %q", got)
			}
		})
	}
}

// Another user's order does not exist: it is looked up with the caller's id.
func TestOrderOfAnotherUser(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPurchases(fakePurchases{
		OnOrder: func(_ context.Context, userID, _ int64, _ time.Duration) (order.Order, error) {
			if userID != buyerID {
				return order.Order{}, errors.New("asked for another user")
			}
			return order.Order{}, order.ErrNotFound
		},
	}))
	wantProblem(t, do(t, a, request{Method: http.MethodGet, Target: "/order/5"}), http.StatusNotFound, "NOT_FOUND")
	wantProblem(t, do(t, a, request{Method: http.MethodGet, Target: "/order/5?userId=43"}),
		http.StatusBadRequest, "INVALID")
}

// Following next from page to page shows every order once and ends.
func TestOrderPages(t *testing.T) {
	t.Parallel()
	const n = 45
	a := newAPI(t, withPurchases(fakePurchases{
		OnOrders: func(_ context.Context, _ order.Filter, before int64, limit int) ([]order.Order, int64, error) {
			var page []order.Order
			for id := min(before-1, n); id > 0 && len(page) < limit; id-- {
				page = append(page, order.Order{ID: id})
			}
			return page, n, nil
		},
	}))
	for _, c := range []struct {
		query string
		pages []int
	}{{"", []int{20, 20, 5}}, {"limit=1", nil}, {"limit=15", []int{15, 15, 15}}, {"limit=45", []int{45}}, {
		"limit=44", []int{44, 1},
	}, {"limit=100", []int{45}}} {
		t.Run(c.query, func(t *testing.T) {
			t.Parallel()
			var pages []int
			next, seen := "", map[string]bool{}
			for {
				target := "/order?" + c.query
				if next != "" {
					target += "&before=" + next
				}
				page := readPage(t, do(t, a, request{Method: http.MethodGet, Target: target}))
				if page.Total != n {
					t.Fatalf("total is %d", page.Total)
				}
				for _, o := range page.Data {
					if seen[o.ID] {
						t.Fatalf("order %s twice", o.ID)
					}
					seen[o.ID] = true
				}
				pages = append(pages, len(page.Data))
				if next = page.Next; next == "" {
					break
				}
			}
			if c.pages != nil && !cmp.Equal(c.pages, pages) || len(seen) != n {
				t.Errorf("pages of %v with %d orders, want %v", pages, len(seen), c.pages)
			}
		})
	}
}

func TestOrderPageValues(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=101": "limit", "limit=-1": "limit", "limit=x": "limit", "limit=": "limit",
		"limit=1&limit=2": "limit", "before=0": "before", "before=-1": "before", "before=x": "before",
		"before=9223372036854775808": "before", "before=": "before", "%zz": "query",
	} {
		got := wantProblem(t, do(t, a, request{Method: http.MethodGet, Target: "/order?" + query}),
			http.StatusBadRequest, "INVALID")
		if len(got.Errors) != 1 || got.Errors[0].Field != field {
			t.Errorf("%s: %+v", query, got.Errors)
		}
	}
	w := do(t, a, request{Method: http.MethodGet, Target: "/order"})
	if diff := cmp.Diff(`{"success":true,"data":[],"total":0}`, w.Body.String()); diff != "" {
		t.Error(diff)
	}
}

func withOrders(f fakeOrders) func(*setup) { return func(cfg *setup) { cfg.Orders = f } }

// history is what happened to an order that was paid too late.
func history() []order.Event {
	return []order.Event{
		{Status: order.Queued, At: noon, By: order.Owner},
		{
			Status: order.Unpaid, At: noon.Add(time.Millisecond + time.Microsecond).In(time.FixedZone("x", 3600)),
			By: order.ByRecorder,
		},
		{Status: order.Cancelled, At: noon.Add(15 * time.Minute), By: order.ByExpirer, Why: reason.NotPaidInTime},
	}
}

const historyDocument = `"history":[{"status":"queued","at":"2026-01-02T12:00:00.000Z","by":"owner"},` +
	`{"status":"unpaid","at":"2026-01-02T12:00:00.001Z","by":"recorder"},` +
	`{"status":"cancelled","at":"2026-01-02T12:15:00.000Z","by":"expirer","why":"not paid in time",` +
	`"whyCode":"NOT_PAID_IN_TIME"}]`

// A single order comes with its history: for its owner, and for admins.
func TestOrderWithHistory(t *testing.T) {
	t.Parallel()
	o := order.Order{
		ID: orderID, UserID: 43, VoucherID: 5, Status: order.Cancelled, Amount: 1000, CreatedAt: noon,
		PayBefore: noon.Add(15 * time.Minute), CancelledAt: noon.Add(15 * time.Minute),
	}
	owner := o
	owner.UserID = buyerID
	a := newAPI(t, withOrders(fakeOrders{
		OnOrder: func(id int64) (order.Order, error) {
			if id != orderID {
				return order.Order{}, order.ErrNotFound
			}
			return o, nil
		},
		OnHistory: func(of order.Order) ([]order.Event, error) {
			if of.ID != orderID {
				return nil, fmt.Errorf("asked for the history of %d", of.ID)
			}
			return history(), nil
		},
	}), withPurchases(fakePurchases{OnOrder: foundOrder(owner)}))
	for target, c := range map[string]struct{ userID, title string }{
		"/order/660000000123456789":       {"42", ""},
		"/admin/order/660000000123456789": {"43", `"title":"券","shopId":2,`},
	} {
		want := `{"success":true,"data":{"id":"660000000123456789","voucherId":5,"userId":` + c.userID +
			`,"status":"cancelled","amount":1000,"currency":"CNY",` +
			`"createTime":"2026-01-02T12:00:00.000Z","payBefore":"2026-01-02T12:15:00.000Z",` +
			`"cancelTime":"2026-01-02T12:15:00.000Z",` + c.title + historyDocument + `}}`
		w := asBoth(t, a, target)
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", target, w.Code, diff)
		}
	}
	wantProblem(t, asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/order/5"}),
		http.StatusNotFound, "NOT_FOUND")
}

// Admins are told where an order's logs are, if the operator has said so, and merchants are not.
func TestTraceURL(t *testing.T) {
	t.Parallel()
	found := withOrders(fakeOrders{OnOrder: func(id int64) (order.Order, error) {
		return order.Order{ID: id, VoucherID: 5, Status: order.Paid}, nil
	}})
	own := withPurchases(fakePurchases{OnOrder: foundOrder(order.Order{ID: 5, Status: order.Paid})})
	a := newAPI(t, found, own, func(cfg *setup) { cfg.TraceURL = "https://logs.example/?q={order}&from={order}" })
	merchant := request{Method: http.MethodGet, Target: "/admin/order/5", Header: map[string]string{
		"Authorization": "Bearer " + apitest.MerchantToken(t, seckillVoucher().ShopID),
	}}
	const link = `,"traceUrl":"https://logs.example/?q=5\u0026from=5"`
	for name, c := range map[string]struct {
		body string
		want bool
	}{
		"an admin":    {asBoth(t, a, "/admin/order/5").Body.String(), true},
		"a merchant":  {do(t, a, merchant).Body.String(), false},
		"the buyer":   {asBoth(t, a, "/order/5").Body.String(), false},
		"not told so": {asBoth(t, newAPI(t, found), "/admin/order/5").Body.String(), false},
	} {
		if !strings.Contains(c.body, `"success":true`) || strings.Contains(c.body, link) != c.want ||
			strings.Contains(c.body, "traceUrl") != c.want {
			t.Errorf("%s: %s", name, c.body)
		}
	}
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
		"?userId=42&voucherId=5&status=refunding&before=100&limit=7": {
			order.Filter{UserID: 42, VoucherID: 5, Status: order.Refunding}, 100, 8,
		},
		"?shopId=3&payment=chg_1": {order.Filter{ShopID: 3, Payment: "chg_1"}, 9223372036854775807, 21},
		"?status=failed":          {order.Filter{Status: order.Failed}, 9223372036854775807, 21},
		"?from=2026-01-02T20:00:00.000Z&to=2026-01-02T21:00:00.500Z": {
			order.Filter{FirstID: idworker.FirstAt(noon.Add(8 * time.Hour))},
			idworker.FirstAt(noon.Add(9*time.Hour + time.Second)), 21,
		},
		"?to=2026-01-02T21:00:00.000Z&before=100": {order.Filter{}, 100, 21},
	} {
		var got asked
		a := newAPI(t, withOrders(fakeOrders{
			OnFind: func(f order.Filter, before int64, limit int) ([]order.Order, error) {
				got = asked{f, before, limit}
				return nil, nil
			},
		}))
		w := asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/order" + query})
		if diff := cmp.Diff(want, got); diff != "" || w.Body.String() != `{"success":true,"data":[]}` {
			t.Errorf("%s: %d %s, asked (-want +got):\n%s", query, w.Code, w.Body, diff)
		}
	}
}

// Following next shows every user's orders, each once.
func TestFindOrderPages(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withOrders(fakeOrders{OnFind: func(_ order.Filter, before int64, limit int) ([]order.Order, error) {
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
		p := readPage(t, asAdmin(t, a, request{Method: http.MethodGet, Target: target}))
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
			"status=": "status", "status=Paid": "status", "status=1": "status", "status=unknown": "status",
			"status=paid&status=paid": "status", "voucherId=0": "voucherId", "voucherId=x": "voucherId",
			"voucherId=9007199254740992": "voucherId", "voucherId=": "voucherId",
			"limit=0": "limit", "before=x": "before", "%zz": "query", "status=" + strings.Repeat("x", 1000): "status",
		} {
			got := wantProblem(t, asBoth(t, a, target+query), http.StatusBadRequest, "INVALID")
			if len(got.Errors) != 1 || got.Errors[0].Field != field || got.Errors[0].Allowed == "" ||
				len(got.Errors[0].Reason) > 200 {
				t.Errorf("%s%s: %+v", target, query, got.Errors)
			}
		}
	}
	// Queued orders have no row: only their owner can see them. An owner's route has no userId.
	for target, field := range map[string]string{
		"/admin/order?status=queued": "status", "/admin/order?userId=x": "userId", "/admin/order?userId=0": "userId",
		"/admin/order?payment=": "payment", "/admin/order?payment=%20": "payment", "/admin/order?shopId=x": "shopId",
		"/admin/order?payment=" + strings.Repeat("x", 129): "payment", "/admin/order?from=yesterday": "from",
		"/admin/order?from=2026-01-02T20:00:00Z&to=2026-01-02T20:00:00Z": "from", "/admin/order?code=a": "code",
	} {
		got := wantProblem(t, asBoth(t, a, target), http.StatusBadRequest, "INVALID")
		if len(got.Errors) != 1 || got.Errors[0].Field != field {
			t.Errorf("%s: %+v", target, got.Errors)
		}
	}
}

func TestAdminOrderErrors(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]string{
		order.ErrNotFound: "NOT_FOUND", order.ErrUnavailable: "UNAVAILABLE", errors.New("x"): "INTERNAL",
	} {
		a := newAPI(t, withOrders(fakeOrders{
			OnOrder: func(int64) (order.Order, error) { return order.Order{}, err },
			OnFind:  func(order.Filter, int64, int) ([]order.Order, error) { return nil, err },
		}))
		for _, target := range []string{"/admin/order", "/admin/order/5"} {
			if got := read(t, asAdmin(t, a, request{Method: http.MethodGet, Target: target})); got.Code != code {
				t.Errorf("%s with %v: %s, want %s", target, err, got.Code, code)
			}
		}
	}
	// An order whose history cannot be read just now is shown without it, and says so.
	a := newAPI(t, withOrders(fakeOrders{
		OnOrder:   func(int64) (order.Order, error) { return order.Order{ID: 5}, nil },
		OnHistory: func(order.Order) ([]order.Event, error) { return nil, order.ErrUnavailable },
	}), withPurchases(fakePurchases{OnOrder: foundOrder(order.Order{ID: 5})}))
	for _, target := range []string{"/admin/order/5", "/order/5"} {
		want := `{"success":true,"data":{"id":"5","voucherId":0,"userId":0,"status":"queued","currency":"CNY"},` +
			`"stale":true}`
		if w := asBoth(t, a, target); w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// A list that a store did not answer for says so, and neither how many orders there are nor what follows. Of an order
// whose state is not known the rest is shown.
func TestStaleOrders(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPurchases(fakePurchases{
		Stale: true, OnOrders: func(context.Context, order.Filter, int64, int) ([]order.Order, int64, error) {
			return []order.Order{
				{ID: 6, VoucherID: 3, UserID: 42, Status: order.StatusUnknown}, {ID: 5, VoucherID: 2, UserID: 42},
			}, 9, nil
		},
	}))
	want := `{"success":true,"data":[{"id":"6","voucherId":3,"userId":42,"currency":"CNY"}],"stale":true}`
	if w := do(t, a, request{Method: http.MethodGet, Target: "/order?limit=1"}); w.Code != http.StatusOK ||
		w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// page is a page of orders, read back.
type page struct {
	Data []struct {
		ID string `json:"id"`
	} `json:"data"`
	Total int    `json:"total"`
	Next  string `json:"next"`
}

// readPage reads a page of orders back.
func readPage(tb testing.TB, w *httptest.ResponseRecorder) page {
	tb.Helper()
	if w.Code != http.StatusOK {
		tb.Fatalf("answer is %d %s", w.Code, w.Body)
	}
	var p page
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		tb.Fatalf("answer %q: %v", w.Body, err)
	}
	return p
}

// asBoth makes a GET request as an admin where the route is an admin's, else as the buyer.
func asBoth(tb testing.TB, a *API, target string) *httptest.ResponseRecorder {
	tb.Helper()
	if strings.HasPrefix(target, "/admin/") {
		return asAdmin(tb, a, request{Method: http.MethodGet, Target: target})
	}
	return do(tb, a, request{Method: http.MethodGet, Target: target})
}

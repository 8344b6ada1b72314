package httpapi

import (
	"net/http"
	"testing"
)

// The routes of a part that is not configured do not exist, and the others work.
func TestMissingParts(t *testing.T) {
	t.Parallel()
	targets := map[string][]request{
		"changes": {
			{method: http.MethodPost, target: "/voucher/5/stock"},
			{method: http.MethodPost, target: "/voucher/5/pause"},
			{method: http.MethodPost, target: "/voucher/5/resume"},
		},
		"orders": {
			{method: http.MethodPost, target: "/order/5/cancel"},
			{method: http.MethodGet, target: "/admin/order"},
			{method: http.MethodGet, target: "/admin/order/5"},
		},
		"payments": {
			{method: http.MethodPost, target: "/order/5/pay"},
			{method: http.MethodPost, target: "/order/5/refund"},
			{method: http.MethodPost, target: "/payment/callback"},
		},
		"callbacks": {
			{method: http.MethodPost, target: "/payment/callback"},
			{method: http.MethodPost, target: "/payment/callback/bank"},
		},
		"ordinary sales": {{method: http.MethodPost, target: "/voucher/buy/5"}},
		"sale stats":     {{method: http.MethodGet, target: "/admin/voucher/5/live"}},
		"audit": {
			{method: http.MethodGet, target: "/admin/audit"}, {method: http.MethodGet, target: "/admin/deadletter"},
		},
		"dead letters": {
			{method: http.MethodGet, target: "/admin/deadletter"},
			{method: http.MethodPost, target: "/admin/deadletter/9-0/replay"},
			{method: http.MethodPost, target: "/admin/deadletter/9-0/discard"},
		},
	}
	for part, remove := range map[string]func(*setup){
		"changes": func(c *setup) { c.VoucherChanges = nil }, "orders": func(c *setup) { c.Orders = nil },
		"payments":  func(c *setup) { c.Payments = nil },
		"callbacks": func(c *setup) { c.Callbacks = nil }, "ordinary sales": func(c *setup) { c.BuyOrdinary = nil },
		"sale stats": func(c *setup) { c.SaleStats = nil }, "audit": func(c *setup) { c.Audit = nil },
		"dead letters": func(c *setup) { c.DeadLetters = nil },
	} {
		a, whole := newAPI(t, remove, withPurchases(fakePurchases{order: foundOrder(orderIn(1))})), newAPI(t)
		for _, req := range targets[part] {
			if got := read(t, asAdmin(t, a, req)); got.Code != "NOT_FOUND" ||
				got.Detail != "There is nothing at this path." {
				t.Errorf("without %s: %s %s: %+v", part, req.method, req.target, got)
			}
			if got := asAdmin(t, whole, req); got.Code == http.StatusNotFound &&
				read(t, got).Detail == "There is nothing at this path." {
				t.Errorf("%s %s does not exist at all", req.method, req.target)
			}
		}
		for _, target := range []string{"/order/5", "/order", "/healthz"} {
			if w := do(t, a, request{method: http.MethodGet, target: target}); w.Code != http.StatusOK {
				t.Errorf("without %s: %s: %d %s", part, target, w.Code, w.Body)
			}
		}
	}
	a := newAPI(t, func(c *setup) { c.VoucherChanges = nil })
	wantProblem(t, asAdmin(t, a, request{method: http.MethodPatch, target: "/voucher/5", body: "{}"}),
		http.StatusMethodNotAllowed, "METHOD")
}

// A parameter and a fixed segment stand at the same place (/voucher/:id/stock, /voucher/seckill/:id): the fixed
// segment wins, and paths beside the routes are refused in the same way everywhere.
func TestNeighbouringPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.AllowedOrigins = []string{"*"} })
	for _, c := range []struct {
		method, target string
		status         int
	}{
		{http.MethodPost, "/voucher/5/stocks", http.StatusNotFound},
		{http.MethodPost, "/voucher/5/stock/", http.StatusNotFound},
		{http.MethodPost, "/voucher//stock", http.StatusBadRequest},
		{http.MethodPost, "/voucher/5/pause/6", http.StatusNotFound},
		{http.MethodPost, "/vouchers/5/pause", http.StatusNotFound},
		{http.MethodGet, "/voucher/5/pause", http.StatusMethodNotAllowed},
		{http.MethodHead, "/voucher/5/resume", http.StatusMethodNotAllowed},
		{http.MethodPatch, "/voucher/5/stock", http.StatusMethodNotAllowed},
		{http.MethodPost, "/voucher/seckill/stock", http.StatusBadRequest},
		{http.MethodGet, "/voucher/list/stock", http.StatusBadRequest},
		{http.MethodPost, "/voucher/seckill/5", http.StatusAccepted},
	} {
		w := asAdmin(t, a, request{
			method: c.method, target: c.target,
			header: map[string]string{"Origin": "https://a.example", "Idempotency-Key": "k"},
		})
		if w.Code != c.status || w.Header().Get("X-Request-Id") == "" ||
			w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s %s: %d %v", c.method, c.target, w.Code, w.Header())
		}
	}
	for _, target := range []string{"/voucher/5/stock", "/voucher/seckill/5"} {
		w := do(t, a, request{
			method: http.MethodOptions, target: target,
			header: map[string]string{"Origin": "https://a.example", "Access-Control-Request-Method": "POST"},
		})
		if w.Code != http.StatusNoContent {
			t.Errorf("preflight of %s: %d", target, w.Code)
		}
	}
}

// A browser that asks for an address at which there is nothing is shown a page; programs, and other methods, are not.
func TestNoPage(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	a := newAPI(t, func(cfg *setup) {
		cfg.NoPage = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	})
	for _, c := range []struct {
		method, target, accept string
		status                 int
	}{
		{http.MethodGet, "/nowhere", browser, http.StatusTeapot},
		{http.MethodHead, "/nowhere", browser, http.StatusTeapot},
		{http.MethodGet, "/nowhere", "*/*", http.StatusNotFound},
		{http.MethodPost, "/nowhere", browser, http.StatusNotFound},
		{http.MethodGet, "/voucher/999", browser, http.StatusNotFound},
	} {
		w := do(t, a, request{method: c.method, target: c.target, header: map[string]string{"Accept": c.accept}})
		if w.Code != c.status {
			t.Errorf("%s %s for %s: %d, want %d", c.method, c.target, c.accept, w.Code, c.status)
		}
	}
}

package httpapi_test

import (
	"net/http"
	"testing"
)

// Without payment providers nobody calls back.
func TestNoCallbacks(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.Callbacks = nil })
	for _, target := range []string{"/payment/callback", "/payment/callback/bank"} {
		got := read(t, asAdmin(t, a, request{Method: http.MethodPost, Target: target}))
		if got.Code != "NOT_FOUND" || got.Detail != "There is nothing at this path." {
			t.Errorf("%s: %+v", target, got)
		}
	}
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
			Method: c.method, Target: c.target,
			Header: map[string]string{"Origin": "https://a.example", "Idempotency-Key": "k"},
		})
		if w.Code != c.status || w.Header().Get("X-Request-Id") == "" ||
			w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s %s: %d %v", c.method, c.target, w.Code, w.Header())
		}
	}
	for _, target := range []string{"/voucher/5/stock", "/voucher/seckill/5"} {
		w := do(t, a, request{
			Method: http.MethodOptions, Target: target,
			Header: map[string]string{"Origin": "https://a.example", "Access-Control-Request-Method": "POST"},
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
		w := do(t, a, request{Method: c.method, Target: c.target, Header: map[string]string{"Accept": c.accept}})
		if w.Code != c.status {
			t.Errorf("%s %s for %s: %d, want %d", c.method, c.target, c.accept, w.Code, c.status)
		}
	}
}

package test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// who is the least that a route asks for.
type who int

const (
	anybody who = iota
	buyer
	admin
)

// route is one route as the outside knows it, with a request that would succeed or fail harmlessly.
type route struct {
	method, path string
	who          who
	body         any
}

// routes is the contract's list. A route that the server has and this list has not is found by the tests of the HTTP
// package, which go through the engine's own list.
func routes(voucher int64) []route {
	ordinary := map[string]any{"shopId": 5, "title": "tea", "payValue": 1, "actualValue": 2}
	seckill := seckillDraft(5, 3, time.Now(), time.Now().Add(time.Hour))
	return []route{
		{http.MethodGet, "/healthz", anybody, nil},
		{http.MethodGet, "/readyz", anybody, nil},
		{http.MethodGet, "/voucher/list/1", anybody, nil},
		{http.MethodGet, fmt.Sprintf("/voucher/%d", voucher), anybody, nil},
		{http.MethodPost, "/voucher", admin, ordinary},
		{http.MethodPost, "/voucher/seckill", admin, seckill},
		{http.MethodPost, fmt.Sprintf("/voucher/seckill/%d", voucher), buyer, nil},
		{http.MethodPost, fmt.Sprintf("/voucher-order/seckill/%d", voucher), buyer, nil},
		{http.MethodGet, "/order", buyer, nil},
		{http.MethodGet, "/order/123456789", buyer, nil},
	}
}

// TestAccess tries every route as everybody: without a token, as a buyer, as an administrator and with every forged
// token there is.
func TestAccess(t *testing.T) {
	t.Parallel()
	s := embeddedSite(t)
	voucher := s.createSale(t, 1000, time.Now().Add(time.Hour))
	vouchers, err := s.ledger.vouchers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range routes(voucher) {
		for name, token := range forgedTokens(t) {
			s.expectAccess(t, rt, name, token, rt.who == anybody, http.StatusUnauthorized)
		}
		s.expectAccess(t, rt, "a buyer", buyerToken(1), rt.who != admin, http.StatusForbidden)
	}
	if n, err := s.ledger.vouchers(t.Context()); err != nil || n != vouchers {
		t.Errorf("%d vouchers after all those refusals, had %d (%v)", n, vouchers, err)
	}
	if orders, err := s.ledger.orders(t.Context(), voucher); err != nil || len(orders) != 1 {
		t.Errorf("%d orders, want the one of the only genuine buyer (%v)", len(orders), err)
	}
	for _, rt := range routes(voucher) {
		s.expectAccess(t, rt, "the administrator", adminToken(), true, 0)
	}
}

// expectAccess sends the route's request and compares who is let in.
func (s *site) expectAccess(t *testing.T, rt route, name, token string, allowed bool, refusal int) {
	t.Helper()
	r, err := s.client.do(t.Context(), request{method: rt.method, url: s.url(rt.path), token: token, body: rt.body})
	if err != nil {
		t.Errorf("%s %s as %s: %v", rt.method, rt.path, name, err)
		return
	}
	turnedAway := r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
	switch {
	case allowed && (turnedAway || r.status >= 500):
		t.Errorf("%s %s as %s: %d %s, want to be let in", rt.method, rt.path, name, r.status, r.body)
	case !allowed && (r.status != refusal || r.Code == "" || r.Success == nil || *r.Success):
		t.Errorf("%s %s as %s: %d %s, want %d", rt.method, rt.path, name, r.status, r.body, refusal)
	}
}

// TestListeners: what operators need is not for everybody.
func TestListeners(t *testing.T) {
	t.Parallel()
	s := embeddedSite(t)
	ops := func(path string) string { return "http://" + s.servers[0].opsAddr + path }
	get := func(url string) reply {
		t.Helper()
		r, err := s.client.do(t.Context(), request{method: http.MethodGet, url: url, token: adminToken()})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/vars"} {
		if r := get(s.url(path)); r.status != http.StatusNotFound {
			t.Errorf("public %s answers %d, want 404", path, r.status)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/healthz", "/readyz"} {
		if r := get(ops(path)); r.status != http.StatusOK {
			t.Errorf("operations %s answers %d, want 200", path, r.status)
		}
	}
}

// TestUnknownRoutes: problems, not Gin's plain texts.
func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	s := embeddedSite(t)
	tests := []struct {
		method, path string
		status       int
		code         string
	}{
		{http.MethodGet, "/nothing", http.StatusNotFound, "NOT_FOUND"},
		{http.MethodPost, "/nothing", http.StatusNotFound, "NOT_FOUND"},
		{http.MethodGet, "/voucher", http.StatusMethodNotAllowed, "METHOD"},
		{http.MethodDelete, "/voucher/1", http.StatusMethodNotAllowed, "METHOD"},
		{http.MethodGet, "/voucher/1/2/3", http.StatusNotFound, "NOT_FOUND"},
		{http.MethodGet, "/voucher/123456", http.StatusNotFound, "NOT_FOUND"},
		{http.MethodGet, "/voucher/abc", http.StatusBadRequest, "INVALID"},
		{http.MethodGet, "/voucher/-1", http.StatusBadRequest, "INVALID"},
		{http.MethodGet, "/voucher/0", http.StatusBadRequest, "INVALID"},
		{http.MethodGet, "/voucher/9007199254740992", http.StatusBadRequest, "INVALID"},
		{http.MethodGet, "/voucher/99999999999999999999999", http.StatusBadRequest, "INVALID"},
		{http.MethodGet, "/voucher/1%20OR%201=1", http.StatusBadRequest, "INVALID"},
		{http.MethodGet, "/voucher/list/x", http.StatusBadRequest, "INVALID"},
		{http.MethodPost, "/voucher/seckill/+1", http.StatusBadRequest, "INVALID"},
		{http.MethodPost, "/voucher/seckill/1?wait=soon", http.StatusBadRequest, "INVALID"},
		{http.MethodPost, "/voucher/seckill/1?wait=-1s", http.StatusBadRequest, "INVALID"},
		{http.MethodPost, "/voucher/seckill/1?wait=240h", http.StatusBadRequest, "INVALID"},
		{http.MethodPost, "/voucher/seckill/123456", http.StatusNotFound, "NOT_FOUND"},
		{http.MethodGet, "/order/0", http.StatusBadRequest, "INVALID"},
		{http.MethodGet, "/order/9223372036854775808", http.StatusBadRequest, "INVALID"},
		{http.MethodGet, "/order/9223372036854775807", http.StatusNotFound, "NOT_FOUND"},
		{http.MethodGet, "/order?limit=0", http.StatusBadRequest, "INVALID"},
		{http.MethodGet, "/order?limit=x", http.StatusBadRequest, "INVALID"},
	}
	for _, tt := range tests {
		r := s.client.must(t, tt.status, request{method: tt.method, url: s.url(tt.path), token: buyerToken(1)})
		if r.Code != tt.code || r.Success == nil || *r.Success || r.Status != tt.status || r.Title == "" ||
			r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s answers %s with %q, want a problem document with code %s", tt.method, tt.path, r.body, r.header.Get("Content-Type"), tt.code)
		}
	}
}

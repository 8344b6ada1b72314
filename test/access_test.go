package test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/test/box"
)

// role is the lowest role that a route requires.
type role int

const (
	anyone role = iota
	buyer
	admin
)

// route is one public route, with a request that would succeed or fail harmlessly.
type route struct {
	method, path string
	role         role
	body         any
}

// routes is the contract's list. The tests of the HTTP package, which use the engine's own list, find routes that this
// list lacks.
func routes(voucher int64) []route {
	ordinary := map[string]any{"shopId": 5, "title": "tea", "payValue": 1, "actualValue": 2}
	seckill := box.SeckillDraft(5, 3, time.Now(), time.Now().Add(time.Hour))
	return []route{
		{http.MethodGet, "/healthz", anyone, nil},
		{http.MethodGet, "/readyz", anyone, nil},
		{http.MethodGet, "/voucher/list/1", anyone, nil},
		{http.MethodGet, fmt.Sprintf("/voucher/%d", voucher), anyone, nil},
		{http.MethodPost, "/voucher", admin, ordinary},
		{http.MethodPost, "/voucher/seckill", admin, seckill},
		{http.MethodPost, fmt.Sprintf("/voucher/seckill/%d", voucher), buyer, nil},
		{http.MethodPost, fmt.Sprintf("/voucher-order/seckill/%d", voucher), buyer, nil},
		{http.MethodGet, "/order", buyer, nil},
		{http.MethodGet, "/order/123456789", buyer, nil},
	}
}

// forgedTokens are tokens that no server may accept, by their defect. Each claims to be the administrator.
func forgedTokens(tb testing.TB) map[string]string {
	tb.Helper()
	with := func(change func(jwt.MapClaims)) string {
		c := box.Claims(box.AdminID, "admin")
		change(c)
		return box.Sign(box.Secret, c)
	}
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, box.Claims(box.AdminID, "admin")).
		SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		tb.Fatalf("making an unsigned token: %v", err)
	}
	stronger, err := jwt.NewWithClaims(jwt.SigningMethodHS512,
		box.Claims(box.AdminID, "admin")).SignedString([]byte(box.Secret))
	if err != nil {
		tb.Fatalf("making an HS512 token: %v", err)
	}
	genuine := box.AdminToken()
	return map[string]string{
		"no token":              "",
		"not a token":           "let-me-in",
		"algorithm none":        unsigned,
		"another algorithm":     stronger,
		"another key":           box.Sign(box.Secret+"!", box.Claims(box.AdminID, "admin")),
		"empty key":             box.Sign("", box.Claims(box.AdminID, "admin")),
		"signature cut off":     genuine[:len(genuine)-3],
		"expired":               with(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Minute).Unix() }),
		"without expiry":        with(func(c jwt.MapClaims) { delete(c, "exp") }),
		"not valid yet":         with(func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Hour).Unix() }),
		"without subject":       with(func(c jwt.MapClaims) { delete(c, "sub") }),
		"subject zero":          with(func(c jwt.MapClaims) { c["sub"] = "0" }),
		"subject negative":      with(func(c jwt.MapClaims) { c["sub"] = "-5" }),
		"subject not a number":  with(func(c jwt.MapClaims) { c["sub"] = "admin" }),
		"subject above 2^53":    with(func(c jwt.MapClaims) { c["sub"] = "9007199254740993" }),
		"subject above 2^64":    with(func(c jwt.MapClaims) { c["sub"] = "18446744073709551658" }),
		"subject as SQL":        with(func(c jwt.MapClaims) { c["sub"] = "1 OR 1=1" }),
		"expiry not a time":     with(func(c jwt.MapClaims) { c["exp"] = "tomorrow" }),
		"claims of another one": genuine[:len(genuine)/2] + box.BuyerToken(7)[len(genuine)/2:],
	}
}

// TestAccess calls every route in each role: without a token, as a buyer, as an administrator, and with every forged
// token.
func TestAccess(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	voucher := s.CreateSale(t, 1000, time.Now().Add(time.Hour))
	vouchers, err := s.Ledger.Vouchers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range routes(voucher) {
		for name, token := range forgedTokens(t) {
			expectAccess(t, s, rt, name, token, rt.role == anyone, http.StatusUnauthorized)
		}
		expectAccess(t, s, rt, "a buyer", box.BuyerToken(1), rt.role != admin, http.StatusForbidden)
	}
	if n, err := s.Ledger.Vouchers(t.Context()); err != nil || n != vouchers {
		t.Errorf("%d vouchers after all those refusals, had %d (%v)", n, vouchers, err)
	}
	if orders, err := s.Ledger.Orders(t.Context(), voucher); err != nil || len(orders) != 1 {
		t.Errorf("%d orders, want the one of the only genuine buyer (%v)", len(orders), err)
	}
	for _, rt := range routes(voucher) {
		expectAccess(t, s, rt, "the administrator", box.AdminToken(), true, 0)
	}
}

// expectAccess sends the route's request and checks whether it is allowed.
func expectAccess(t *testing.T, s *box.Site, rt route, name, token string, allowed bool, refusal int) {
	t.Helper()
	r, err := s.Client.Do(t.Context(), box.Request{Method: rt.method, URL: s.URL(rt.path), Token: token, Body: rt.body})
	if err != nil {
		t.Errorf("%s %s as %s: %v", rt.method, rt.path, name, err)
		return
	}
	denied := r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden
	switch {
	case allowed && (denied || r.StatusCode >= 500):
		t.Errorf("%s %s as %s: %d %s, want access", rt.method, rt.path, name, r.StatusCode, r.Body)
	case !allowed && (r.StatusCode != refusal || r.Code == "" || r.Success == nil || *r.Success):
		t.Errorf("%s %s as %s: %d %s, want %d", rt.method, rt.path, name, r.StatusCode, r.Body, refusal)
	}
}

// TestListeners checks that routes for operators are only on the operations listener.
func TestListeners(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	ops := func(path string) string { return s.Servers[0].OpsURL(path) }
	get := func(url string) box.Reply {
		t.Helper()
		r, err := s.Client.Do(t.Context(), box.Request{Method: http.MethodGet, URL: url, Token: box.AdminToken()})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/vars"} {
		if r := get(s.URL(path)); r.StatusCode != http.StatusNotFound {
			t.Errorf("public %s answers %d, want 404", path, r.StatusCode)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/healthz", "/readyz"} {
		if r := get(ops(path)); r.StatusCode != http.StatusOK {
			t.Errorf("operations %s answers %d, want 200", path, r.StatusCode)
		}
	}
}

// TestUnknownRoutes checks that answers to unknown routes are problem documents, not Gin's plain text.
func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
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
		r := s.Client.Must(t, tt.status, box.Request{Method: tt.method, URL: s.URL(tt.path), Token: box.BuyerToken(1)})
		if r.Code != tt.code || r.Success == nil || *r.Success || r.ProblemStatus != tt.status || r.Title == "" ||
			r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s answers %s with %q, want a problem document with code %s",
				tt.method, tt.path, r.Body, r.Header.Get("Content-Type"), tt.code)
		}
	}
}

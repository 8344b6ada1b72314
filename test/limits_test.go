package test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestUserRate: a user who asks too often is told when to come back; the others notice nothing, and operators see it.
func TestUserRate(t *testing.T) {
	t.Parallel()
	srv := newServer(t, "embedded", map[string]string{
		"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data"), "SECKILL_JWT_SECRET": secret,
		"SECKILL_USER_RATE": "1", "SECKILL_USER_BURST": "3",
	})
	if err := srv.start(); err != nil {
		t.Fatal(err)
	}
	c := newClient(t)
	ask := func(token string) reply {
		t.Helper()
		r, err := c.do(t.Context(), request{method: http.MethodGet, url: srv.url("/order"), token: token})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	last := ask(buyerToken(1))
	for range 100 { // more than come back in the time that this takes
		if last.status != http.StatusOK {
			break
		}
		last = ask(buyerToken(1))
	}
	if last.status != http.StatusTooManyRequests || last.Code != "RATE_LIMITED" || last.header.Get("Retry-After") != "1" {
		t.Errorf("the impatient user: %d %s, Retry-After %q", last.status, last.body, last.header.Get("Retry-After"))
	}
	for name, token := range map[string]string{"another user": buyerToken(2), "an admin": adminToken()} {
		if r := ask(token); r.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	metrics := string(c.must(t, http.StatusOK, request{method: http.MethodGet, url: "http://" + srv.opsAddr + "/metrics"}).body)
	for _, line := range []string{
		`seckill_http_requests_total{code="RATE_LIMITED",method="GET",route="/order",status="429"} 1`,
		"seckill_http_requests_in_flight 0", "seckill_http_event_streams 0", "seckill_http_overload_refusals_total 0",
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics have no line %s", line)
		}
	}
}

package test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"seckill/test/box"
)

// TestUserRate checks that a user who sends too many requests gets a Retry-After, that other users are not affected,
// and that the metrics show it.
func TestUserRate(t *testing.T) {
	t.Parallel()
	srv := box.NewServer(t, "embedded", map[string]string{
		"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data"), "SECKILL_JWT_SECRET": box.Secret,
		"SECKILL_USER_RATE": "1", "SECKILL_USER_BURST": "3",
	})
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	c := box.NewClient(t)
	ask := func(token string) box.Reply {
		t.Helper()
		r, err := c.Do(t.Context(), box.Request{Method: http.MethodGet, URL: srv.URL("/order"), Token: token})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	last := ask(box.BuyerToken(1))
	for range 100 { // more than the rate restores meanwhile
		if last.StatusCode != http.StatusOK {
			break
		}
		last = ask(box.BuyerToken(1))
	}
	if last.StatusCode != http.StatusTooManyRequests || last.Code != "RATE_LIMITED" ||
		last.Header.Get("Retry-After") != "1" {
		t.Errorf("the user above the rate: %d %s, Retry-After %q",
			last.StatusCode, last.Body, last.Header.Get("Retry-After"))
	}
	for name, token := range map[string]string{"another user": box.BuyerToken(2), "an admin": box.AdminToken()} {
		if r := ask(token); r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.Body)
		}
	}
	metrics := srv.Metrics(t)
	for _, line := range []string{
		`seckill_http_requests_total{code="RATE_LIMITED",method="GET",route="/order",status="429"} 1`,
		"seckill_http_requests_in_flight 0", "seckill_http_event_streams 0", "seckill_http_overload_refusals_total 0",
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics have no line %s", line)
		}
	}
}

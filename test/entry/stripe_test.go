package entry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestStripe: Stripe's events reach seckill-stripe, whole; its other paths are not to be had, and the service has its
// own.
func TestStripe(t *testing.T) {
	t.Parallel()
	events := httptest.NewServer(instance(nil))
	t.Cleanup(events.Close)
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	e := start(t, service, "", change{`stripe:8090`, strings.TrimPrefix(events.URL, "http://")})
	const size = 300 << 10
	event := request(http.MethodPost, "/stripe/", fmt.Sprint("Content-Length: ", size)) + strings.Repeat("x", size)
	if a := e.ask("127.0.0.1", event); a.status != http.StatusOK || !strings.Contains(a.body, fmt.Sprint(size)) {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, path := range []string{"/stripe", "/stripe/metrics", "/stripe/healthz", "/stripe/x"} {
		if a := e.ask("127.0.0.1", request(http.MethodGet, path)); a.status != http.StatusTeapot {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	away := start(t, service, "", change{`stripe:8090`, "127.0.0.1:1"})
	a := away.ask("127.0.0.1", request(http.MethodPost, "/stripe/"))
	a.isProblem(t, http.StatusGatewayTimeout, "UNKNOWN_OUTCOME")
}

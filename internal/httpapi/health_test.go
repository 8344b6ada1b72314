package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi"
)

func check(name string, required bool, err error) httpapi.Check {
	return httpapi.Check{Name: name, Required: required, Run: func(context.Context) error { return err }}
}

func withChecks(checks ...httpapi.Check) func(*setup) {
	return func(cfg *setup) { cfg.Checks = checks }
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	away := errors.New("is away")
	for _, c := range []struct {
		name   string
		checks []httpapi.Check
		status int
		body   string
	}{
		{"no checks", nil, 200, `{"status":"ready","checks":[]}`},
		{
			"ready",
			[]httpapi.Check{check("redis", true, nil), check("mysql", false, nil)},
			200,
			`{"status":"ready","checks":[{"name":"redis","required":true,"ok":true},{"name":"mysql",` +
				`"required":false,"ok":true}]}`,
		},
		{
			"degraded",
			[]httpapi.Check{check("redis", true, nil), check("mysql", false, away)},
			200,
			`{"status":"degraded","checks":[{"name":"redis","required":true,"ok":true},{"name":"mysql",` +
				`"required":false,"ok":false,"detail":"is away"}]}`,
		},
		{
			"unready",
			[]httpapi.Check{check("redis", true, away), check("mysql", false, away)},
			503,
			`{"status":"unready","checks":[{"name":"redis","required":true,"ok":false,"detail":"is away"},` +
				`{"name":"mysql","required":false,"ok":false,"detail":"is away"}]}`,
		},
		{
			"panic",
			[]httpapi.Check{{Name: "bug", Run: func(context.Context) error { panic("oops") }}},
			200,
			`{"status":"degraded","checks":[{"name":"bug","required":false,"ok":false,"detail":"the ` +
				`check panicked: oops"}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, withChecks(c.checks...))
			for listener, h := range map[string]http.Handler{
				"public": a.Handler(), "operations": a.Operations(http.NotFoundHandler()),
			} {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
				if diff := cmp.Diff(c.body, w.Body.String()); diff != "" || w.Code != c.status {
					t.Errorf("%s: %d %s", listener, w.Code, diff)
				}
			}
			a.Drain()
			w := do(t, a, request{Method: http.MethodGet, Target: "/readyz"})
			if want := `{"status":"draining","checks":[]}`; w.Code != http.StatusServiceUnavailable ||
				w.Body.String() != want {
				t.Errorf("draining: %d %s", w.Code, w.Body)
			}
			if w := do(t, a, request{Method: http.MethodGet, Target: "/healthz"}); w.Code != http.StatusOK ||
				w.Body.String() != healthzBody {
				t.Errorf("health while draining: %d %s", w.Code, w.Body)
			}
		})
	}
}

// A check that does not end with its context costs two seconds, not more, and is named in the report.
func TestCheckThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	a := newAPI(t, withChecks(check("redis", true, nil), httpapi.Check{Name: "mysql", Run: func(context.Context) error {
		<-release
		return nil
	}}))
	began := time.Now()
	w := do(t, a, request{Method: http.MethodGet, Target: "/readyz"})
	if took := time.Since(began); took > checkTimeout+30*time.Second {
		t.Errorf("took %s", took)
	}
	if !strings.Contains(w.Body.String(), `"degraded"`) || !strings.Contains(w.Body.String(),
		`{"name":"mysql","required":false,"ok":false,"detail":"no answer within 2s"}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// However many callers ask, the stores are asked twice a second. A caller who hangs up does not spoil the others'
// report.
func TestReportIsShared(t *testing.T) {
	t.Parallel()
	var runs, ahead atomic.Int64
	a := newAPI(t, func(cfg *setup) {
		cfg.Now = func() time.Time { return noon.Add(time.Duration(ahead.Load())) }
		cfg.Checks = []httpapi.Check{{Name: "redis", Required: true, Run: func(ctx context.Context) error {
			runs.Add(1)
			return ctx.Err()
		}}}
	})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			if w := doWith(t, gone, a, request{Method: http.MethodGet, Target: "/readyz"}); w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	callers.Wait()
	if n := runs.Load(); n != 1 {
		t.Errorf("the check ran %d times", n)
	}
	ahead.Store(int64(reportAge))
	do(t, a, request{Method: http.MethodGet, Target: "/readyz"})
	if n := runs.Load(); n != 2 {
		t.Errorf("after %s the check has run %d times", reportAge, n)
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := newAPI(t, func(cfg *setup) { cfg.OperationsHosts = []string{"example.com"} }).Operations(metrics)
	for target, status := range map[string]int{
		"/metrics": http.StatusTeapot, "/healthz": 200, "/readyz": 200, "/debug/pprof/": 200,
		"/debug/pprof/goroutine?debug=1": 200,
		"/debug/pprof/cmdline":           200, "/debug/pprof/symbol": 200, "/voucher/5": 404, "/order": 404, "/": 404,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
		if w.Code != status {
			t.Errorf("%s: %d, want %d", target, w.Code, status)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/metrics", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST /metrics: %d", w.Code)
	}
}

// TestOperationsHosts: probes and Prometheus ask by address or by a configured name; a browser that was led here by
// another name is refused.
func TestOperationsHosts(t *testing.T) {
	t.Parallel()
	h := newAPI(t, func(cfg *setup) { cfg.OperationsHosts = []string{"server-1"} }).Operations(http.NotFoundHandler())
	for host, known := range map[string]bool{
		"10.1.2.3:9090": true, "10.1.2.3": true, "[fd00::1]:9090": true, "[::1]": true, "localhost:9090": true,
		"LOCALHOST.": true, "a.localhost": true, "server-1": true, "Server-1:9090": true, "": true,
		"evil.example": false, "evil.example:9090": false, "server-10": false, "127.0.0.1.evil.example": false,
		"localhost.evil.example": false, "0x7f.1": false,
	} {
		for _, target := range []string{healthzPath, "/debug/pprof/cmdline", "/nothing"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
			r.Host = host
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if (w.Code != http.StatusMisdirectedRequest) != known {
				t.Errorf("%q, %s: %d %s", host, target, w.Code, w.Body)
			}
		}
	}
	every := newAPI(t, func(cfg *setup) { cfg.OperationsHosts = []string{"*"} }).Operations(http.NotFoundHandler())
	w := httptest.NewRecorder()
	every.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, healthzPath, nil))
	if w.Code != http.StatusOK {
		t.Errorf("every name: %d", w.Code)
	}
}

package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"seckill/internal/kit/clientip"
	"seckill/internal/kit/trace"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

func TestRequestID(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ask := func(id string) string {
		w := do(t, a, request{
			Method: http.MethodGet, Target: "/healthz", Header: map[string]string{"X-Request-Id": id},
		})
		return w.Header().Get("X-Request-Id")
	}
	for _, id := range []string{"a", "A.b_c-9", strings.Repeat("x", 64)} {
		if got := ask(id); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
	for _, id := range []string{"", " ", "a b", "a\tb", strings.Repeat("x", 65), "é", "<script>", "a\"", "a;b"} {
		if got := ask(id); uuid.Validate(got) != nil {
			t.Errorf("%q became %q", id, got)
		}
	}
	if one, another := ask(""), ask(""); one == another {
		t.Error("two requests have one id")
	}
}

// Unexpected errors are logged with all details, and the caller sees none.
func TestUnexpectedErrorsAreLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		get  func(int64) (voucher.Shown, error)
		want string
	}{
		"error": {
			func(int64) (voucher.Shown, error) { return voucher.Shown{}, errors.New("password=hunter2") }, "hunter2",
		},
		"panic": {func(int64) (voucher.Shown, error) { panic("hunter2") }, "request_test.go"}, // the stack
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log lines
			a := newAPI(t, withLog(&log, slog.LevelInfo),
				func(cfg *setup) { cfg.Vouchers = &fakeVouchers{Get: c.get} })
			w := do(t, a, request{
				Method: http.MethodGet, Target: "/voucher/5", Header: map[string]string{"X-Request-Id": "the-id"},
			})
			wantProblem(t, w, http.StatusInternalServerError, "INTERNAL")
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the caller reads %s", w.Body)
			}
			var line struct {
				Level     string `json:"level"`
				Code      string `json:"code"`
				Route     string `json:"route"`
				Path      string `json:"path"`
				RequestID string `json:"request_id"`
				Status    int    `json:"status"`
			}
			if err := json.Unmarshal([]byte(log.String()), &line); err != nil {
				t.Fatalf("log %q: %v", log.String(), err)
			}
			if line.Level != "ERROR" || line.RequestID != "the-id" || line.Code != "INTERNAL" || line.Status != 500 ||
				line.Route != "/voucher/:id" || line.Path != "/voucher/5" || !strings.Contains(log.String(), c.want) {
				t.Errorf("log %s", log.String())
			}
		})
	}
}

// Refusals are business as usual: at info level a sold-out sale logs nothing. A store that is away is logged, but not
// once for each of a million requests.
func TestLogIsQuietAndBounded(t *testing.T) {
	t.Parallel()
	for err, least := range map[error]int{
		gate.ErrSoldOut: 0, gate.ErrPaused: 0, order.ErrUnavailable: 1, errors.New("x"): 1,
	} {
		var log lines
		a := newAPI(t, withLog(&log, slog.LevelInfo), withPurchases(fakePurchases{
			OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
				return order.Order{}, err
			},
		}))
		for range 500 {
			do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5"})
		}
		if n := strings.Count(log.String(), "\n"); n < least || least == 0 && n > 0 || n > 5*failureLogsPerSecond {
			t.Errorf("%v: %d lines", err, n)
		}
	}
	var log lines
	a := newAPI(t, withLog(&log, slog.LevelDebug))
	do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5"})
	if got := log.String(); !strings.Contains(got, `"user_id":42`) || !strings.Contains(got, `"status":202`) ||
		strings.Contains(got, token(t, buyerID, "")) {
		t.Errorf("at debug level: %s", got)
	}
}

// A request whose caller has it followed is logged, with its trace and what it made, and what is done for it knows the
// trace. Others are not, and nobody is without the setting.
func TestFollow(t *testing.T) {
	t.Parallel()
	const id = "0af7651916cd43dd8448eb211c80319c"
	for name, c := range map[string]struct {
		on     bool
		parent string
		err    error
		traced bool
		want   string // in the log, "" for no line
	}{
		"followed":            {true, "00-" + id + "-b7ad6b7169203331-01", nil, true, `"location":"/order/5"`},
		"followed, refused":   {true, "00-" + id + "-b7ad6b7169203331-01", gate.ErrSoldOut, true, `"code":"SOLD_OUT"`},
		"not sampled":         {true, "00-" + id + "-b7ad6b7169203331-00", nil, false, ""},
		"not a traceparent":   {true, "00-" + id + "-01", nil, false, ""},
		"none":                {true, "", nil, false, ""},
		"off":                 {false, "00-" + id + "-b7ad6b7169203331-01", nil, false, ""},
		"a failure, although": {false, "00-" + id + "-b7ad6b7169203331-00", errors.New("x"), false, `"error":"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log lines
			traced := false
			a := newAPI(t, withLog(&log, slog.LevelInfo), func(cfg *setup) { cfg.Traces = c.on },
				withPurchases(fakePurchases{
					OnBuy: func(ctx context.Context, _, _ int64, _ time.Duration) (order.Order, error) {
						traced = trace.From(ctx).ID() == id
						return order.Order{ID: 5}, c.err
					},
				}))
			do(t, a, request{
				Method: http.MethodPost, Target: "/voucher/seckill/5",
				Header: map[string]string{"Traceparent": c.parent},
			})
			got := log.String()
			if traced != c.traced || (got != "") != (c.want != "") || !strings.Contains(got, c.want) ||
				got != "" && !strings.Contains(got, `"trace_id":"`+id+`"`) {
				t.Errorf("traced: %v, log %s", traced, got)
			}
		})
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	type seen struct {
		Method, Route string
		Status        int
		Code          string
		Took          time.Duration
	}
	var got []seen
	at := noon
	a := newAPI(t, func(cfg *setup) {
		cfg.Now = func() time.Time { at = at.Add(time.Millisecond); return at }
		cfg.Observe = func(method, route string, status int, code string, took time.Duration) {
			if took <= 0 {
				t.Errorf("%s took %s", route, took)
			}
			got = append(got, seen{method, route, status, code, 0})
		}
	})
	do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5"})
	do(t, a, request{Method: http.MethodPost, Target: "/voucher-order/seckill/x"})
	do(t, a, request{Method: http.MethodGet, Target: "/order/77"})
	do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill"})
	do(t, a, request{Method: http.MethodGet, Target: "/made/up"})
	do(t, a, request{Method: "BREW", Target: "/order/77"})
	want := []seen{
		{"POST", "/voucher/seckill/:id", 202, "", 0},
		{"POST", "/voucher-order/seckill/:id", 200, "INVALID", 0},
		{"GET", "/order/:id", 404, "NOT_FOUND", 0},
		{"POST", "/voucher/seckill", 403, "FORBIDDEN", 0},
		{"GET", "", 404, "NOT_FOUND", 0},
		{"BREW", "", 405, "METHOD", 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// behind finds addresses behind proxies.
func behind(tb testing.TB, proxies ...string) *clientip.Addresses {
	tb.Helper()
	a, err := clientip.New(proxies, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// X-Forwarded-For is believed from a trusted proxy alone, and no other header.
func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted []string
		want    string
	}{
		"none":    {nil, "192.0.2.1"}, // httptest's address
		"other":   {[]string{"10.0.0.0/8"}, "192.0.2.1"},
		"trusted": {[]string{"192.0.2.0/24"}, "198.51.100.7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log lines
			a := newAPI(t, withLog(&log, slog.LevelDebug), func(cfg *setup) {
				cfg.Addresses = behind(t, c.trusted...)
			})
			do(t, a, request{
				Method: http.MethodGet, Target: "/healthz",
				Header: map[string]string{"X-Forwarded-For": "198.51.100.7", "X-Real-IP": "203.0.113.9"},
			})
			do(t, a, request{
				Method: http.MethodGet, Target: "/healthz", Header: map[string]string{"X-Real-IP": "203.0.113.9"},
			})
			if strings.Contains(log.String(), "203.0.113.9") || !strings.Contains(log.String(),
				`"client":"`+c.want+`"`) {
				t.Errorf("log %s", log.String())
			}
		})
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	const shop = "https://shop.example"
	ask := func(allowed []string, method, target, origin string, header ...string) (http.Header, int) {
		h := map[string]string{"Origin": origin}
		for i := 0; i < len(header); i += 2 {
			h[header[i]] = header[i+1]
		}
		w := do(t, newAPI(t, func(cfg *setup) { cfg.AllowedOrigins = allowed }),
			request{Method: method, Target: target, Header: h})
		return w.Header(), w.Code
	}
	const allow = "Access-Control-Allow-Origin"
	if h, _ := ask(nil, http.MethodGet, "/order", shop); h.Get(allow) != "" || h.Get("Vary") != "" {
		t.Errorf("switched off: %v", h)
	}
	h, status := ask([]string{shop}, http.MethodPost, "/voucher/seckill/5", shop)
	if h.Get(allow) != shop || h.Get("Vary") != "Origin" || status != http.StatusAccepted ||
		h.Get("Access-Control-Expose-Headers") != "Location, Retry-After, X-Request-Id, X-Server-Time" ||
		h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("allowed: %d %v", status, h)
	}
	for _, origin := range []string{
		"https://evil.example", "http://shop.example", "https://shop.example.evil.example", "null", "",
	} {
		if h, _ := ask([]string{shop}, http.MethodGet, "/order", origin); h.Get(allow) != "" ||
			h.Get("Vary") != "Origin" {
			t.Errorf("%q: %v", origin, h)
		}
	}
	if h, _ := ask([]string{"*"}, http.MethodGet, "/order", "https://any.example"); h.Get(allow) != "*" {
		t.Errorf("all: %v", h)
	}
	// Refusals carry the headers too, else the page could not read them.
	h, status = ask([]string{shop}, http.MethodPost, "/voucher", shop)
	if status != http.StatusForbidden || h.Get(allow) != shop || !slices.Equal(h.Values("Vary"),
		[]string{"Origin", "Accept-Language"}) {
		t.Errorf("refusal: %d %v", status, h)
	}
	h, status = ask([]string{shop}, http.MethodOptions, "/voucher/seckill/5", shop, "Access-Control-Request-Method",
		"POST", "Authorization", "")
	if status != http.StatusNoContent || h.Get(allow) != shop ||
		h.Get("Access-Control-Allow-Methods") != "GET, HEAD, PATCH, POST" ||
		h.Get("Access-Control-Allow-Headers") != "Authorization, Content-Type, Coupon-Code, Idempotency-Key, "+
			"Last-Event-ID, "+
			"X-Request-Id, X-Seckill-Ticket, X-Seckill-Altcha" || h.Get("Access-Control-Max-Age") == "" {
		t.Errorf("preflight: %d %v", status, h)
	}
	if h, status := ask([]string{shop}, http.MethodOptions, "/voucher/seckill/5", "https://evil.example",
		"Access-Control-Request-Method", "POST"); status != http.StatusMethodNotAllowed || h.Get(allow) != "" {
		t.Errorf("preflight of another origin: %d %v", status, h)
	}
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for target, method := range map[string]string{
		"/healthz": http.MethodGet, "/order": http.MethodGet, "/nothing": http.MethodGet, "/order/x": http.MethodHead,
		"/voucher/seckill/5": http.MethodPost, "/voucher-order/seckill/x": http.MethodPost, "/voucher": http.MethodPost,
		"/readyz": http.MethodPost,
	} {
		if got := do(t, a, request{Method: method, Target: target}).Header(); got.Get("X-Content-Type-Options") !=
			"nosniff" || got.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %v", method, target, got)
		}
	}
}

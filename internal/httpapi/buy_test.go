package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

func TestBuy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		order    order.Order
		status   int
		body     string
		location string
	}{
		{
			"queued",
			order.Order{ID: orderID, Status: order.Queued},
			http.StatusAccepted,
			`{"success":true,"data":{"orderId":"660000000123456789","status":"queued"}}`, "/order/660000000123456789",
		},
		{
			"recorded",
			order.Order{ID: orderID, Status: order.Unpaid},
			http.StatusCreated,
			`{"success":true,"data":{"orderId":"660000000123456789","status":"unpaid"}}`, "/order/660000000123456789",
		},
		{
			"state not known",
			order.Order{ID: 1, Status: order.StatusUnknown},
			http.StatusAccepted,
			`{"success":true,"data":{"orderId":"1"}}`, "/order/1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, withDesk(fakeDesk{buy: func(_ context.Context, userID, voucherID int64, wait time.Duration) (order.Order, error) {
				if userID != buyerID || voucherID != 9007199254740991 || wait != 1500*time.Millisecond {
					return order.Order{}, fmt.Errorf("called with %d, %d, %s", userID, voucherID, wait)
				}
				return c.order, nil
			}}))
			w := do(t, a, request{method: http.MethodPost, target: "/voucher/seckill/9007199254740991?wait=1500ms"})
			if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Location") != c.location {
				t.Errorf("%d %s, Location %q", w.Code, w.Body, w.Header().Get("Location"))
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type is %q", got)
			}
		})
	}
}

// refusals is what the desk can refuse with and what both routes make of it.
var refusals = []struct {
	err        error
	status     int // of the problem document
	plain      int // of the tutorial's envelope
	code       string
	retryAfter string
	data       string
}{
	{order.ErrSoldOut, 409, 200, "SOLD_OUT", "", ""},
	{&order.AlreadyBoughtError{OrderID: orderID, Status: order.Paid}, 409, 200, "ALREADY_BOUGHT", "", `{"orderId":"660000000123456789","status":"paid"}`},
	{&order.AlreadyBoughtError{OrderID: orderID, Status: order.Queued}, 409, 200, "ALREADY_BOUGHT", "", `{"orderId":"660000000123456789","status":"queued"}`},
	{&order.AlreadyBoughtError{OrderID: orderID, Status: order.StatusUnknown}, 409, 200, "ALREADY_BOUGHT", "", `{"orderId":"660000000123456789"}`},
	{order.ErrNotStarted, 403, 200, "NOT_STARTED", "", ""},
	{order.ErrEnded, 403, 200, "ENDED", "", ""},
	{order.ErrPaused, 503, 503, "PAUSED", "3", ""},
	{order.ErrUnavailable, 503, 503, "UNAVAILABLE", "2", ""},
	{order.ErrUnknownOutcome, 504, 504, "UNKNOWN_OUTCOME", "", ""},
	{voucher.ErrNotFound, 404, 200, "NOT_FOUND", "", ""},
	{voucher.ErrNotSeckill, 409, 200, "NOT_SECKILL", "", ""},
	{voucher.ErrOffShelf, 409, 200, "OFF_SHELF", "", ""},
	{errors.New("driver: secret detail"), 500, 500, "INTERNAL", "", ""},
	{context.DeadlineExceeded, 500, 500, "INTERNAL", "", ""}, // a write: nobody may say that nothing happened
	{context.Canceled, 500, 500, "INTERNAL", "", ""},         // given up, but not by the caller
	{fmt.Errorf("%w, because %w", order.ErrUnavailable, context.Canceled), 503, 503, "UNAVAILABLE", "2", ""},
	// An unknown outcome is never told as something certain.
	{fmt.Errorf("%w, because %w", order.ErrUnavailable, order.ErrUnknownOutcome), 504, 504, "UNKNOWN_OUTCOME", "", ""},
	{fmt.Errorf("%w, because %w", order.ErrUnknownOutcome, context.Canceled), 504, 504, "UNKNOWN_OUTCOME", "", ""},
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		t.Run(c.code+" "+c.err.Error(), func(t *testing.T) {
			t.Parallel()
			a := buying(t, fmt.Errorf("as adapters do: %w", c.err))
			w := do(t, a, request{method: http.MethodPost, target: "/voucher/seckill/5"})
			got := wantProblem(t, w, c.status, c.code)
			if string(got.Data) != c.data || w.Header().Get("Retry-After") != c.retryAfter {
				t.Errorf("%s, Retry-After %q", w.Body, w.Header().Get("Retry-After"))
			}
			if strings.Contains(w.Body.String(), "secret detail") {
				t.Errorf("the detail of an unknown error got out: %s", w.Body)
			}
			if want := "urn:seckill:problem:" + strings.ReplaceAll(strings.ToLower(c.code), "_", "-"); got.Type != want {
				t.Errorf("type is %q, want %q", got.Type, want)
			}

			w = do(t, a, request{method: http.MethodPost, target: "/voucher-order/seckill/5"})
			plain := read(t, w)
			if w.Code != c.plain || plain.Code != c.code || plain.ErrorMsg == "" || string(plain.Data) != c.data ||
				plain.Success == nil || *plain.Success || plain.Type != "" || plain.Status != 0 {
				t.Errorf("plain envelope: %d %s", w.Code, w.Body)
			}
			if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Retry-After") != c.retryAfter {
				t.Errorf("plain envelope: headers %v", w.Header())
			}
		})
	}
}

// The tutorial's frontend: the token raw, the order id alone as data, refusals as 200.
func TestTutorialRoute(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	w := do(t, a, request{method: http.MethodPost, target: "/voucher-order/seckill/5"})
	if want := `{"success":true,"data":"660000000123456789"}`; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("%d %s, want %s", w.Code, w.Body, want)
	}
	w = do(t, a, request{method: http.MethodPost, target: "/voucher-order/seckill/abc"})
	if got := read(t, w); w.Code != http.StatusOK || got.Code != "INVALID" || len(got.Errors) != 1 || *got.Success {
		t.Errorf("bad id: %d %s", w.Code, w.Body)
	}
	w = do(t, a, request{method: http.MethodPost, target: "/voucher-order/seckill/5", header: map[string]string{"Authorization": ""}})
	if got := read(t, w); w.Code != http.StatusUnauthorized || got.Code != "UNAUTHENTICATED" || got.Type != "" {
		t.Errorf("no token: %d %s", w.Code, w.Body)
	}
	w = do(t, buying(t, order.ErrSoldOut), request{
		method: http.MethodPost, target: "/voucher-order/seckill/5", header: map[string]string{"Accept-Language": "zh-CN"},
	})
	if want := `{"success":false,"code":"SOLD_OUT","errorMsg":"已售罄"}`; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("%d %s, want %s", w.Code, w.Body, want)
	}
}

// An order that fails while its buyer waits is told as what it is, with its id.
func TestOrderFailedWhileWaiting(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withDesk(fakeDesk{buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
		return order.Order{ID: orderID, Status: order.Failed, Reason: order.NoStock}, nil
	}}))
	w := do(t, a, request{method: http.MethodPost, target: "/voucher/seckill/5?wait=1s"})
	got := wantProblem(t, w, http.StatusConflict, "ORDER_FAILED")
	if diff := cmp.Diff(`{"orderId":"660000000123456789","status":"failed","reason":"NO_STOCK"}`, string(got.Data)); diff != "" {
		t.Error(diff)
	}
	w = do(t, a, request{method: http.MethodPost, target: "/voucher-order/seckill/5?wait=1s"})
	if got := read(t, w); w.Code != http.StatusOK || got.Code != "ORDER_FAILED" || *got.Success {
		t.Errorf("plain envelope: %d %s", w.Code, w.Body)
	}
}

// A caller who hangs up is no failure of the service, whatever became of his purchase: he hears nothing of it, and asks
// again when he comes back. One who waits is told that it is not known.
func TestCallerHangsUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		code  string
		waits bool
	}{
		"cancelled":                        {err: context.Canceled, code: "CANCELLED"},
		"a store is given up":              {err: fmt.Errorf("%w: %w", order.ErrUnavailable, context.Canceled), code: "CANCELLED"},
		"a purchase is under way":          {err: fmt.Errorf("%w: %w", order.ErrUnknownOutcome, context.Canceled), code: "CANCELLED"},
		"its row is waited for":            {err: fmt.Errorf("%w: not recorded in time", order.ErrUnknownOutcome), code: "CANCELLED"},
		"it was decided":                   {err: order.ErrSoldOut, code: "SOLD_OUT"},
		"an unknown outcome, and he waits": {err: fmt.Errorf("%w: %w", order.ErrUnknownOutcome, context.Canceled), code: "UNKNOWN_OUTCOME", waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var code string
			var log lines
			a := newAPI(t, withLog(&log, slog.LevelInfo), withDesk(fakeDesk{buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
				if !c.waits {
					cancel()
				}
				return order.Order{}, c.err
			}}), func(cfg *Config) {
				cfg.Observe = func(_, _ string, _ int, told string, _ time.Duration) { code = told }
			})
			doWith(t, ctx, a, request{method: http.MethodPost, target: "/voucher/seckill/5"})
			if code != c.code {
				t.Errorf("counted as %q, want %q", code, c.code)
			}
			if loud := log.String() != ""; loud != (c.code == "UNKNOWN_OUTCOME") {
				t.Errorf("log is %q", log.String())
			}
		})
	}
}

// A read that runs out of time is an unavailable store.
func TestReadRunsOutOfTime(t *testing.T) {
	t.Parallel()
	for _, err := range []error{context.DeadlineExceeded, context.Canceled} {
		a := newAPI(t, withDesk(fakeDesk{order: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
			return order.Order{}, fmt.Errorf("reading: %w", err)
		}}))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			wantProblem(t, do(t, a, request{method: method, target: "/order/5"}), http.StatusServiceUnavailable, "UNAVAILABLE")
		}
	}
}

// busy limits users, and lets one press as often as a test likes.
func busy(cfg *Config) { cfg.UserRate, cfg.UserBurst = maxUserRate, 100_000_000 }

// The path of a purchase is what half a million people take in one second. The ceilings are what it costs now, all of it
// in this package and Gin: the request id and its header, the Location and its header, the body. The limits cost none.
func TestBuyAllocatesLittle(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		ceiling float64
	}{
		{"accepted", nil, 7}, {"sold out", order.ErrSoldOut, 4}, {"already bought", &order.AlreadyBoughtError{OrderID: orderID}, 5},
	} {
		a := newAPI(t, busy)
		if c.err != nil {
			a = buying(t, c.err, busy)
		}
		r := newRequest(t, t.Context(), request{method: http.MethodPost, target: "/voucher/seckill/5", header: map[string]string{"Accept-Language": "zh-CN,zh;q=0.9"}})
		w := &discard{header: http.Header{}}
		handler := a.Handler()
		got := testing.AllocsPerRun(500, func() {
			clear(w.header)
			handler.ServeHTTP(w, r)
		})
		if w.status >= http.StatusInternalServerError || w.status == http.StatusUnauthorized {
			t.Fatalf("%s: status %d", c.name, w.status)
		}
		if got > c.ceiling+raceAllocs {
			t.Errorf("%s: %v allocations, want at most %v", c.name, got, c.ceiling)
		}
	}
}

func BenchmarkBuy(b *testing.B) {
	for name, err := range map[string]error{"accepted": nil, "sold out": order.ErrSoldOut} {
		b.Run(name, func(b *testing.B) {
			a := newAPI(b, busy)
			if err != nil {
				a = buying(b, err, busy)
			}
			r := newRequest(b, b.Context(), request{method: http.MethodPost, target: "/voucher/seckill/5"})
			w := &discard{header: http.Header{}}
			handler := a.Handler()
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				handler.ServeHTTP(w, r)
			}
		})
	}
}

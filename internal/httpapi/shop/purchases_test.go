package shop_test

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

	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/reason"
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
			"several units",
			order.Order{ID: orderID, Quantity: order.QuantityOf(3), Status: order.Unpaid},
			http.StatusCreated,
			`{"success":true,"data":{"orderId":"660000000123456789","status":"unpaid","quantity":3}}`,
			"/order/660000000123456789",
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
			a := newAPI(t, withPurchases(fakePurchases{
				OnBuy: func(_ context.Context, userID, voucherID int64, wait time.Duration) (order.Order, error) {
					if userID != buyerID || voucherID != 9007199254740991 || wait != 1500*time.Millisecond {
						return order.Order{}, fmt.Errorf("called with %d, %d, %s", userID, voucherID, wait)
					}
					return c.order, nil
				},
			}))
			w := do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/9007199254740991?wait=1500ms"})
			if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Location") != c.location {
				t.Errorf("%d %s, Location %q", w.Code, w.Body, w.Header().Get("Location"))
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type is %q", got)
			}
		})
	}
}

// How many units are asked for, on both routes; nobody who says nothing asks for more than one.
func TestBuyQuantity(t *testing.T) {
	t.Parallel()
	for _, route := range []string{"/voucher/seckill/5", "/voucher-order/seckill/5"} {
		for query, want := range map[string]int64{
			"": 1, "?quantity=1": 1, "?quantity=2": 2, "?quantity=20&wait=0s": 20,
			"?quantity=0": 0, "?quantity=21": 0, "?quantity=-1": 0, "?quantity=two": 0,
			"?quantity=": 0, "?quantity=02": 0,
			"?quantity=1.5": 0, "?quantity=2&quantity=2": 0, "?quantity=%2B2": 0, "?quantity=99999999999999999999": 0,
		} {
			asked := order.QuantityOf(77)
			a := newAPI(t, withPurchases(fakePurchases{Asked: &asked}))
			w := do(t, a, request{Method: http.MethodPost, Target: route + query})
			if want > 0 {
				if asked.Units() != want || w.Code >= 300 {
					t.Errorf("%s%s: %d, asked for %s units, want %d", route, query, w.Code, asked, want)
				}
				continue
			}
			if body := w.Body.String(); asked.Units() != 77 || !strings.Contains(body, `"field":"quantity"`) ||
				!strings.Contains(body, `"code":"INVALID"`) {
				t.Errorf("%s%s: %d %s, asked for %s units", route, query, w.Code, body, asked)
			}
		}
	}
}

// refusals are the errors of a purchase and what both routes make of them.
var refusals = []struct {
	err        error
	status     int // of the problem document
	plain      int // of the tutorial's envelope
	code       string
	retryAfter string
	data       string
}{
	{gate.ErrSoldOut, 409, 200, "SOLD_OUT", "", ""},
	{
		&gate.AlreadyBoughtError{OrderID: orderID, Status: order.Paid}, 409, 200, "ALREADY_BOUGHT", "",
		`{"orderId":"660000000123456789","status":"paid"}`,
	},
	{
		&gate.AlreadyBoughtError{OrderID: orderID, Status: order.Queued}, 409, 200, "ALREADY_BOUGHT", "",
		`{"orderId":"660000000123456789","status":"queued"}`,
	},
	{
		&gate.AlreadyBoughtError{OrderID: orderID, Status: order.StatusUnknown}, 409, 200, "ALREADY_BOUGHT", "",
		`{"orderId":"660000000123456789"}`,
	},
	{
		&gate.AlreadyBoughtError{OrderID: orderID, Quantity: order.QuantityOf(3), Status: order.Paid}, 409, 200,
		"ALREADY_BOUGHT", "", `{"orderId":"660000000123456789","status":"paid","quantity":3}`,
	},
	{&gate.NotEnoughError{Left: 2}, 409, 200, "NOT_ENOUGH", "", `{"left":2}`},
	{gate.ErrNotStarted, 403, 200, "NOT_STARTED", "", ""},
	{gate.ErrEnded, 403, 200, "ENDED", "", ""},
	{gate.ErrPaused, 503, 503, "PAUSED", "3", ""},
	{order.ErrUnavailable, 503, 503, "UNAVAILABLE", "2", ""},
	{order.ErrUnknownOutcome, 504, 504, "UNKNOWN_OUTCOME", "", ""},
	{voucher.ErrNotFound, 404, 200, "NOT_FOUND", "", ""},
	{voucher.ErrNotSeckill, 409, 200, "NOT_SECKILL", "", ""},
	{voucher.ErrOffShelf, 404, 200, "NOT_FOUND", "", ""},
	{errors.New("driver: secret detail"), 500, 500, "INTERNAL", "", ""},
	{context.DeadlineExceeded, 500, 500, "INTERNAL", "", ""}, // a write: it may have happened
	{context.Canceled, 500, 500, "INTERNAL", "", ""},         // given up, but not by the caller
	{fmt.Errorf("%w, because %w", order.ErrUnavailable, context.Canceled), 503, 503, "UNAVAILABLE", "2", ""},
	// An unknown outcome is never answered as a known one.
	{fmt.Errorf("%w, because %w", order.ErrUnavailable, order.ErrUnknownOutcome), 504, 504, "UNKNOWN_OUTCOME", "", ""},
	{fmt.Errorf("%w, because %w", order.ErrUnknownOutcome, context.Canceled), 504, 504, "UNKNOWN_OUTCOME", "", ""},
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		t.Run(c.code+" "+c.err.Error(), func(t *testing.T) {
			t.Parallel()
			a := buying(t, fmt.Errorf("as adapters do: %w", c.err))
			w := do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5"})
			got := wantProblem(t, w, c.status, c.code)
			if string(got.Data) != c.data || w.Header().Get("Retry-After") != c.retryAfter {
				t.Errorf("%s, Retry-After %q", w.Body, w.Header().Get("Retry-After"))
			}
			if strings.Contains(w.Body.String(), "secret detail") {
				t.Errorf("the detail of an unknown error got out: %s", w.Body)
			}
			if want := "urn:seckill:problem:" +
				strings.ReplaceAll(strings.ToLower(c.code), "_", "-"); got.Type != want {
				t.Errorf("type is %q, want %q", got.Type, want)
			}

			w = do(t, a, request{Method: http.MethodPost, Target: "/voucher-order/seckill/5"})
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
	w := do(t, a, request{Method: http.MethodPost, Target: "/voucher-order/seckill/5"})
	if want := `{"success":true,"data":"660000000123456789"}`; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("%d %s, want %s", w.Code, w.Body, want)
	}
	w = do(t, a, request{Method: http.MethodPost, Target: "/voucher-order/seckill/abc"})
	if got := read(t, w); w.Code != http.StatusOK || got.Code != "INVALID" || len(got.Errors) != 1 || *got.Success {
		t.Errorf("bad id: %d %s", w.Code, w.Body)
	}
	w = do(t, a, request{
		Method: http.MethodPost, Target: "/voucher-order/seckill/5", Header: map[string]string{"Authorization": ""},
	})
	if got := read(t, w); w.Code != http.StatusUnauthorized || got.Code != "UNAUTHENTICATED" || got.Type != "" {
		t.Errorf("no token: %d %s", w.Code, w.Body)
	}
	w = do(t, buying(t, gate.ErrSoldOut), request{
		Method: http.MethodPost, Target: "/voucher-order/seckill/5",
		Header: map[string]string{"Accept-Language": "zh-CN"},
	})
	if want := `{"success":false,"code":"SOLD_OUT","errorMsg":"已售罄"}`; w.Code != http.StatusOK ||
		w.Body.String() != want {
		t.Errorf("%d %s, want %s", w.Code, w.Body, want)
	}
}

// An order that fails while its buyer waits is answered as failed, with its id.
func TestOrderFailedWhileWaiting(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPurchases(fakePurchases{
		OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
			return order.Order{ID: orderID, Status: order.Failed, Reason: reason.NoStock}, nil
		},
	}))
	w := do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5?wait=1s"})
	got := wantProblem(t, w, http.StatusConflict, "ORDER_FAILED")
	if diff := cmp.Diff(`{"orderId":"660000000123456789","status":"failed","reason":"NO_STOCK"}`,
		string(got.Data)); diff != "" {
		t.Error(diff)
	}
	w = do(t, a, request{Method: http.MethodPost, Target: "/voucher-order/seckill/5?wait=1s"})
	if got := read(t, w); w.Code != http.StatusOK || got.Code != "ORDER_FAILED" || *got.Success {
		t.Errorf("plain envelope: %d %s", w.Code, w.Body)
	}
}

// A caller who hangs up is no failure of the service, whatever became of their purchase: they read no answer, and
// repeat the request later. One who waits is answered that the outcome is not known.
func TestCallerHangsUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		code  string
		waits bool
	}{
		"cancelled": {err: context.Canceled, code: "CANCELLED"},
		"a store is given up": {
			err: fmt.Errorf("%w: %w", order.ErrUnavailable, context.Canceled), code: "CANCELLED",
		},
		"a purchase is under way": {
			err: fmt.Errorf("%w: %w", order.ErrUnknownOutcome, context.Canceled), code: "CANCELLED",
		},
		"its row is waited for": {
			err: fmt.Errorf("%w: not recorded in time", order.ErrUnknownOutcome), code: "CANCELLED",
		},
		"it was decided": {err: gate.ErrSoldOut, code: "SOLD_OUT"},
		"an unknown outcome, and they wait": {
			err: fmt.Errorf("%w: %w", order.ErrUnknownOutcome, context.Canceled), code: "UNKNOWN_OUTCOME", waits: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var code string
			var log lines
			a := newAPI(t, withLog(&log, slog.LevelInfo), withPurchases(
				fakePurchases{OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
					if !c.waits {
						cancel()
					}
					return order.Order{}, c.err
				}}), func(cfg *setup) {
				cfg.Observe = func(_, _ string, _ int, observed string, _ time.Duration) { code = observed }
			})
			doWith(t, ctx, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5"})
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
		a := newAPI(t, withPurchases(fakePurchases{
			OnOrder: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
				return order.Order{}, fmt.Errorf("reading: %w", err)
			},
		}))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			wantProblem(t, do(t, a, request{Method: method, Target: "/order/5"}),
				http.StatusServiceUnavailable, "UNAVAILABLE")
		}
	}
}

// Half a million people take the path of a purchase in one second. The ceilings are what it costs now, all of it
// in this package and Gin: the request id and its header, the Location and its header, the body, and two in Gin's tree
// (docs/adr/history.md). The limits cost none.
func TestBuyAllocatesLittle(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		ceiling float64
	}{
		{"accepted", nil, 7},
		{"sold out", gate.ErrSoldOut, 4},
		{"already bought", &gate.AlreadyBoughtError{OrderID: orderID}, 5},
	} {
		a := newAPI(t, busy)
		if c.err != nil {
			a = buying(t, c.err, busy)
		}
		r := request{
			Method: http.MethodPost, Target: "/voucher/seckill/5",
			Header: map[string]string{"Accept-Language": "zh-CN,zh;q=0.9"},
		}.HTTP(t, t.Context())
		w := &discard{OnHeader: http.Header{}}
		handler := a.Handler()
		got := testing.AllocsPerRun(500, func() {
			clear(w.OnHeader)
			handler.ServeHTTP(w, r)
		})
		if w.Status >= http.StatusInternalServerError || w.Status == http.StatusUnauthorized {
			t.Fatalf("%s: status %d", c.name, w.Status)
		}
		if got > c.ceiling+raceAllocs {
			t.Errorf("%s: %v allocations, want at most %v", c.name, got, c.ceiling)
		}
	}
}

func BenchmarkBuy(b *testing.B) {
	for name, err := range map[string]error{"accepted": nil, "sold out": gate.ErrSoldOut} {
		b.Run(name, func(b *testing.B) {
			a := newAPI(b, busy)
			if err != nil {
				a = buying(b, err, busy)
			}
			r := request{Method: http.MethodPost, Target: "/voucher/seckill/5"}.HTTP(b, b.Context())
			w := &discard{OnHeader: http.Header{}}
			handler := a.Handler()
			b.ReportAllocs()
			for b.Loop() {
				clear(w.OnHeader)
				handler.ServeHTTP(w, r)
			}
		})
	}
}

// withOrdinarySale has ordinary vouchers sold by buy.
func withOrdinarySale(buy func(userID, voucherID int64, key string) (order.Order, error)) func(*setup) {
	return func(cfg *setup) {
		cfg.BuyOrdinary = func(_ context.Context, userID, voucherID int64, k idempotency.Key) (order.Order, error) {
			return buy(userID, voucherID, k.Name)
		}
	}
}

func TestBuyOrdinary(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "k-1"} {
		a := newAPI(t, withOrdinarySale(func(userID, voucherID int64, given string) (order.Order, error) {
			if userID != buyerID || voucherID != 9007199254740991 || given != key {
				return order.Order{}, fmt.Errorf("called with %d, %d, %q", userID, voucherID, given)
			}
			return order.Order{ID: orderID, Status: order.Unpaid}, nil
		}))
		w := do(t, a, request{
			Method: http.MethodPost, Target: "/voucher/buy/9007199254740991",
			Header: map[string]string{"Idempotency-Key": key},
		})
		const want = `{"success":true,"data":{"orderId":"660000000123456789","status":"unpaid"}}`
		if w.Code != http.StatusCreated || w.Body.String() != want ||
			w.Header().Get("Location") != "/order/660000000123456789" {
			t.Errorf("key %q: %d %s, Location %q", key, w.Code, w.Body, w.Header().Get("Location"))
		}
	}
}

// No refusal tells an unlisted voucher from none.
func TestBuyOfAnUnlistedVoucher(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{
		voucher.ErrOffShelf, voucher.ErrNotSeckill, gate.ErrNotStarted,
		invalid.Join(invalid.Outside("quantity", 3, 1, 2)),
	} {
		a := newAPI(t, withPurchases(fakePurchases{OnBuy: func(
			context.Context, int64, int64, time.Duration,
		) (order.Order, error) {
			return order.Order{}, refusal
		}}), func(cfg *setup) {
			cfg.FindVoucher = func(context.Context, int64) (voucher.Voucher, error) {
				v := seckillVoucher().Voucher
				v.Status = voucher.OffShelf
				return v, nil
			}
		})
		w := do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5"})
		wantProblem(t, w, http.StatusNotFound, "NOT_FOUND")
	}
}

func TestBuyOrdinaryRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{order.ErrSeckill, 409, "SECKILL_ONLY"},
		{idempotency.ErrReused, 409, "KEY_REUSED"},
		{&order.LimitError{PerUser: 2}, 409, "LIMIT_REACHED"},
		{voucher.ErrNotFound, 404, "NOT_FOUND"},
		{voucher.ErrOffShelf, 404, "NOT_FOUND"},
		{order.ErrUnavailable, 503, "UNAVAILABLE"},
		{errors.New("x"), 500, "INTERNAL"},
	} {
		a := newAPI(t, withOrdinarySale(func(int64, int64, string) (order.Order, error) {
			return order.Order{}, fmt.Errorf("as adapters do: %w", c.err)
		}))
		got := wantProblem(t, do(t, a, request{Method: http.MethodPost, Target: "/voucher/buy/5"}), c.status, c.code)
		if c.code == "LIMIT_REACHED" && string(got.Data) != `{"perUser":2}` {
			t.Errorf("the limit: %s", got.Data)
		}
	}
}

// No answer asks to repeat what would buy once more.
func TestUnknownOutcomeWithoutAKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withOrdinarySale(
		func(int64, int64, string) (order.Order, error) { return order.Order{}, order.ErrUnknownOutcome }))
	texts := map[string]string{}
	for _, key := range []string{"", "k"} {
		w := do(t, a, request{
			Method: http.MethodPost, Target: "/voucher/buy/5", Header: map[string]string{"Idempotency-Key": key},
		})
		got := wantProblem(t, w, http.StatusGatewayTimeout, "UNKNOWN_OUTCOME")
		texts[key] = got.ErrorMsg + got.Detail
	}
	if texts[""] == texts["k"] {
		t.Errorf("with and without a key: %s", texts[""])
	}
}

func TestBuyOrdinaryRefusesInvalidInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withOrdinarySale(func(int64, int64, string) (order.Order, error) {
		t.Error("bought")
		return order.Order{}, nil
	}))
	for field, req := range map[string]request{
		"id":              {Target: "/voucher/buy/x", Header: map[string]string{"Idempotency-Key": "a"}},
		"Idempotency-Key": {Target: "/voucher/buy/x", Header: map[string]string{"Idempotency-Key": "a b"}},
	} {
		req.Method = http.MethodPost
		got := wantProblem(t, do(t, a, req), http.StatusBadRequest, "INVALID")
		if len(got.Errors) != 1 || got.Errors[0].Field != field {
			t.Errorf("%s: %+v", field, got.Errors)
		}
	}
}

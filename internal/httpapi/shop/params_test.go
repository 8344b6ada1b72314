package shop_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
)

// badIDs are ids on no route.
var badIDs = []string{
	"0", "-1", "+1", "01", "1.0", "1e3", "0x1", "abc", "1a", "a1", "%201", "1%20", "%00", "१", "１", "null", "-",
	"9223372036854775808", "18446744073709551617", strings.Repeat("9", 300), "1_000", "1%2F2",
}

func TestIDsInPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const admin = "9007199254740991"
	for _, c := range []struct {
		method, before, field, largest string
	}{
		{http.MethodPost, "/voucher/seckill/", "id", admin},
		{http.MethodGet, "/voucher/", "id", admin},
		{http.MethodGet, "/voucher/list/", "shopId", admin},
		{http.MethodGet, "/order/", "id", "9223372036854775807"},
		{http.MethodPost, "/voucher/buy/", "id", admin},
		{http.MethodGet, "/admin/order/", "id", "9223372036854775807"},
	} {
		ids := badIDs
		if c.largest == admin {
			ids = append([]string{"9007199254740992"}, badIDs...)
		}
		for _, id := range ids {
			w := asAdmin(t, a, request{Method: c.method, Target: c.before + id})
			if id == "1%2F2" && w.Code == http.StatusNotFound {
				continue // a path of its own
			}
			got := wantProblem(t, w, http.StatusBadRequest, "INVALID")
			if len(got.Errors) != 1 || got.Errors[0].Field != c.field || got.Errors[0].Reason == "" ||
				!strings.Contains(got.Errors[0].Allowed, c.largest) || w.Body.Len() > 1000 {
				t.Errorf("%s%s: %s", c.before, id, w.Body)
			}
		}
		for _, id := range []string{"1", c.largest} {
			if w := asAdmin(t, a, request{Method: c.method, Target: c.before + id}); w.Code == http.StatusBadRequest {
				t.Errorf("%s%s: %s", c.before, id, w.Body)
			}
		}
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	var asked time.Duration
	a := newAPI(t, withPurchases(fakePurchases{
		OnOrder: func(_ context.Context, _, _ int64, wait time.Duration) (order.Order, error) {
			asked = wait
			return order.Order{ID: 5}, nil
		},
	}), func(cfg *setup) { cfg.MaxWait = 20 * time.Second })
	for text, want := range map[string]time.Duration{
		"": 0, "?": 0, "?wait=0": 0, "?wait=500ms": 500 * time.Millisecond, "?wait=2s": 2 * time.Second,
		"?wait=20s": 20 * time.Second, "?wait=1.5s": 1500 * time.Millisecond,
	} {
		asked = -1
		if w := do(t, a, request{Method: http.MethodGet, Target: "/order/5" + text}); w.Code != http.StatusOK ||
			asked != want {
			t.Errorf("%q: waited %s, %d %s", text, asked, w.Code, w.Body)
		}
	}
	for _, text := range []string{
		"wait=", "wait=2", "wait=-1s", "wait=21s", "wait=20s1ns", "wait=abc", "wait=1d", "wait=9999999h", "wait=NaN",
		"wait=1s&wait=2s", "wait=%zz", "a=1;b=2",
	} {
		for _, target := range []string{"/order/5?", "/voucher/seckill/5?"} {
			method := http.MethodGet
			if strings.HasPrefix(target, "/voucher") {
				method = http.MethodPost
			}
			got := wantProblem(t, do(t, a, request{Method: method, Target: target + text}),
				http.StatusBadRequest, "INVALID")
			if len(got.Errors) != 1 || got.Errors[0].Field != "wait" && got.Errors[0].Field != "query" {
				t.Errorf("%s%s: %+v", target, text, got.Errors)
			}
		}
	}
}

// An id in the middle of a path is read like one at its end.
func TestIDsInTheMiddleOfPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, c := range []struct{ method, before, after, largest string }{
		{http.MethodPost, "/order/", "/pay", "9223372036854775807"},
		{http.MethodPost, "/order/", "/cancel", "9223372036854775807"},
		{http.MethodPost, "/order/", "/refund", "9223372036854775807"},
		{http.MethodGet, "/order/", "/events", "9223372036854775807"},
		{http.MethodHead, "/order/", "/events", "9223372036854775807"},
		{http.MethodPost, "/voucher/", "/pause", "9007199254740991"},
		{http.MethodPost, "/voucher/", "/resume", "9007199254740991"},
	} {
		for _, id := range []string{"0", "-1", "01", "1.0", "x", "%20", "9223372036854775808"} {
			got := wantProblem(t, asAdmin(t, a, request{Method: c.method, Target: c.before + id + c.after}),
				http.StatusBadRequest, "INVALID")
			if len(got.Errors) != 1 || got.Errors[0].Field != "id" ||
				!strings.Contains(got.Errors[0].Allowed, c.largest) {
				t.Errorf("%s%s%s: %+v", c.before, id, c.after, got.Errors)
			}
		}
	}
}

// Everything that is wrong is reported at once.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	got := wantProblem(t, do(t, newAPI(t), request{Method: http.MethodPost, Target: "/voucher/seckill/0?wait=x"}),
		http.StatusBadRequest, "INVALID")
	if len(got.Errors) != 2 || got.Errors[0].Field != "id" || got.Errors[1].Field != "wait" {
		t.Errorf("%+v", got.Errors)
	}
}

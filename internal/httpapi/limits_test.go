package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
)

// slowPurchases sells to every user, and takes a while.
func slowPurchases(takes time.Duration) fakePurchases {
	return fakePurchases{OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
		time.Sleep(takes)
		return order.Order{ID: orderID, Status: order.Queued}, nil
	}}
}

// Twenty times as many requests come as purchases can have in flight, three times over: exactly the surplus is
// refused, at once, and the others take no longer than they would alone.
func TestOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// 128 less what the three other classes have for themselves.
		const slots, requests, takes = 104, 2000, 50 * time.Millisecond
		a := newAPI(t, withPurchases(slowPurchases(takes)), func(cfg *setup) { cfg.MaxInFlight = 128 })
		type outcome struct {
			status     int
			retryAfter string
			took       time.Duration
		}
		want := map[outcome]int{
			{http.StatusAccepted, "", takes}:        slots,
			{http.StatusServiceUnavailable, "2", 0}: requests - slots,
		}
		for wave := int64(1); wave <= 3; wave++ {
			var mu sync.Mutex
			got := map[outcome]int{}
			var answered sync.WaitGroup
			for range requests {
				answered.Go(func() {
					began := time.Now()
					w := do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5"})
					mu.Lock()
					defer mu.Unlock()
					got[outcome{w.Code, w.Header().Get("Retry-After"), time.Since(began)}]++
				})
			}
			synctest.Wait() // those in flight are buying, and all others are answered
			if load := a.Load(); load.InFlight != slots || load.Refused != wave*(requests-slots) {
				t.Errorf("meanwhile: %+v", load)
			}
			answered.Wait()
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("wave %d: %v, want %v", wave, got, want)
			}
			if n := a.Load().InFlight; n != 0 {
				t.Fatalf("afterwards %d are in flight", n)
			}
		}
	})
}

// What is refused in overload, and what is not: admins' requests, and what uses no store.
func TestRoutesInOverload(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withWatch(func(_ context.Context, _, _ int64, yield func(order.Order, bool) error) error {
		return errors.Join(yield(orderIn(order.Paid), true))
	}))
	admin := map[string]string{"Authorization": token(t, adminID, authtoken.RoleAdmin)}
	nobody := map[string]string{"Authorization": ""}
	for _, c := range []struct {
		method, target string
		header         map[string]string
		full, empty    int
	}{
		{http.MethodPost, "/voucher/seckill/5", nil, http.StatusServiceUnavailable, http.StatusAccepted},
		{http.MethodPost, "/voucher-order/seckill/5", nil, http.StatusServiceUnavailable, http.StatusOK},
		// Tokens are not read.
		{http.MethodPost, "/voucher/seckill/5", nobody, http.StatusServiceUnavailable, http.StatusUnauthorized},
		{http.MethodPost, "/voucher/seckill/5", admin, http.StatusServiceUnavailable, http.StatusAccepted},
		{http.MethodGet, "/voucher/list/1", nobody, http.StatusServiceUnavailable, http.StatusOK},
		{http.MethodGet, "/order", nil, http.StatusServiceUnavailable, http.StatusOK},
		{http.MethodHead, "/order", nil, http.StatusServiceUnavailable, http.StatusOK},
		{http.MethodPost, "/voucher/5/pause", admin, http.StatusOK, http.StatusOK},
		{http.MethodGet, "/admin/order", admin, http.StatusOK, http.StatusOK},
		{http.MethodPost, "/voucher/5/pause", nil, http.StatusForbidden, http.StatusForbidden},
		{http.MethodGet, eventsPath, nil, http.StatusOK, http.StatusOK},
		{http.MethodGet, "/healthz", nobody, http.StatusOK, http.StatusOK},
		{http.MethodGet, "/readyz", nobody, http.StatusOK, http.StatusOK},
		{http.MethodGet, "/nothing", nobody, http.StatusNotFound, http.StatusNotFound},
		{http.MethodPut, "/order", nobody, http.StatusMethodNotAllowed, http.StatusMethodNotAllowed},
	} {
		ask := func() int {
			return do(t, a, request{Method: c.method, Target: c.target, Header: c.header}).Code
		}
		release := saturate(a)
		if got := ask(); got != c.full {
			t.Errorf("%s %s, full: %d, want %d", c.method, c.target, got, c.full)
		}
		release()
		if got := ask(); got != c.empty {
			t.Errorf("%s %s, empty: %d, want %d", c.method, c.target, got, c.empty)
		}
		if taken, _ := a.Config.InFlight.Taken(); taken != 0 {
			t.Fatalf("%s %s does not release its permit", c.method, c.target)
		}
	}
}

// The refusal in overload is a complete answer, in both formats.
func TestOverloadAnswers(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	saturate(a)
	w := do(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill/5"})
	wantProblem(t, w, http.StatusServiceUnavailable, "UNAVAILABLE")
	if w.Header().Get("Retry-After") != "2" || w.Header().Get("X-Request-Id") == "" {
		t.Errorf("headers %v", w.Header())
	}
	w = do(t, a, request{
		Method: http.MethodPost, Target: "/voucher-order/seckill/5", Header: map[string]string{"Accept-Language": "zh"},
	})
	if want := `{"success":false,"code":"UNAVAILABLE","errorMsg":"系统繁忙，请稍后再试"}`; w.Code !=
		http.StatusServiceUnavailable || w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A handler that panics releases its permit.
func TestPanicReleasesItsPermit(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPurchases(fakePurchases{
		OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) { panic("a bug") },
	}))
	if w := do(t, a,
		request{Method: http.MethodPost, Target: "/voucher/seckill/5"}); w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := a.Load().InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// With more than half of what may be in flight taken no request waits: it is answered with what is known. Its wait is
// validated all the same.
func TestNoWaitingWhenBusy(t *testing.T) {
	t.Parallel()
	var waited []time.Duration
	a := newAPI(t, func(cfg *setup) { cfg.MaxInFlight = 16 }, withPurchases(fakePurchases{
		OnBuy: func(_ context.Context, _, _ int64, wait time.Duration) (order.Order, error) {
			waited = append(waited, wait)
			return order.Order{ID: orderID, Status: order.Queued}, nil
		},
		OnOrder: func(_ context.Context, _, _ int64, wait time.Duration) (order.Order, error) {
			waited = append(waited, wait)
			return orderIn(order.Queued), nil
		},
	}))
	for _, others := range []int{0, 7, 8, 11} {
		var permits []bulkhead.Permit
		for range others {
			s, ok := a.Config.InFlight.Try(bulkhead.Purchase)
			if !ok {
				t.Fatalf("%d purchases are too many", others)
			}
			permits = append(permits, s)
		}
		for method, target := range map[string]string{
			http.MethodPost: "/voucher/seckill/5", http.MethodGet: "/order/5",
		} {
			if w := do(t, a, request{Method: method, Target: target + "?wait=1s"}); w.Code >= http.StatusBadRequest {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			wantProblem(t, do(t, a, request{Method: method, Target: target + "?wait=1h"}),
				http.StatusBadRequest, "INVALID")
		}
		for _, s := range permits {
			s.Release()
		}
	}
	if got, want := fmt.Sprint(waited), "[1s 1s 1s 1s 0s 0s 0s 0s]"; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
}

// Refusing has to be cheap: in overload it is most of the work. It allocates as much as refusing what is sold out.
func TestRefusingInOverloadAllocatesLittle(t *testing.T) {
	a := newAPI(t)
	saturate(a)
	r := request{Method: http.MethodPost, Target: "/voucher/seckill/5"}.HTTP(t, t.Context())
	w := &discard{OnHeader: http.Header{}}
	handler := a.Handler()
	got := testing.AllocsPerRun(500, func() {
		clear(w.OnHeader)
		handler.ServeHTTP(w, r)
	})
	if w.Status != http.StatusServiceUnavailable || got > 6+raceAllocs {
		t.Errorf("status %d, %v allocations, want at most 6", w.Status, got)
	}
}

// A user who asks too often is refused before anything else is read and before the domain is called; other users and
// admins are not affected. The Retry-After is right.
func TestUserRate(t *testing.T) {
	t.Parallel()
	var ahead, bought atomic.Int64
	a := newAPI(t, func(cfg *setup) {
		cfg.UserRate, cfg.UserBurst = 1, 3
		cfg.Now = func() time.Time { return noon.Add(time.Duration(ahead.Load())) }
	}, withPurchases(fakePurchases{OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
		bought.Add(1)
		return order.Order{ID: orderID, Status: order.Queued}, nil
	}}))
	buy := request{Method: http.MethodPost, Target: "/voucher/seckill/5"}
	for i := range 3 {
		if w := do(t, a, buy); w.Code != http.StatusAccepted {
			t.Fatalf("purchase %d: %d", i, w.Code)
		}
	}
	w := do(t, a, buy)
	wantProblem(t, w, http.StatusTooManyRequests, "RATE_LIMITED")
	if got := w.Header().Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	for _, req := range []request{
		{Method: http.MethodPost, Target: "/voucher/seckill/abc"},
		{Method: http.MethodPost, Target: "/voucher/buy/5"},
		{Method: http.MethodGet, Target: "/order/5"},
		{Method: http.MethodGet, Target: "/order"},
		{Method: http.MethodGet, Target: eventsPath},
		{Method: http.MethodPost, Target: "/order/5/pay"},
		{Method: http.MethodPost, Target: "/order/5/cancel"},
		{Method: http.MethodPost, Target: "/order/5/refund"},
	} {
		wantProblem(t, do(t, a, req), http.StatusTooManyRequests, "RATE_LIMITED")
	}
	w = do(t, a, request{
		Method: http.MethodPost, Target: "/voucher-order/seckill/5",
		Header: map[string]string{"Accept-Language": "zh-CN"},
	})
	if want := `{"success":false,"code":"RATE_LIMITED","errorMsg":"操作过于频繁，请稍后再试"}`; w.Code !=
		http.StatusTooManyRequests || w.Body.String() != want {
		t.Errorf("plain envelope: %d %s", w.Code, w.Body)
	}
	if n := bought.Load(); n != 3 {
		t.Errorf("%d purchases", n)
	}
	for what, c := range map[string]struct {
		req    request
		status int
	}{
		"another user": {request{Method: http.MethodPost, Target: "/voucher/seckill/5", Header: map[string]string{
			"Authorization": token(t, buyerID+1, ""),
		}}, http.StatusAccepted},
		"an admin of that id": {
			request{
				Method: http.MethodPost, Target: "/voucher/seckill/5",
				Header: map[string]string{"Authorization": token(t, buyerID, authtoken.RoleAdmin)},
			}, http.StatusAccepted,
		},
		"what is open to all":   {request{Method: http.MethodGet, Target: "/voucher/list/1"}, http.StatusOK},
		"what is not for users": {request{Method: http.MethodPost, Target: "/voucher/5/pause"}, http.StatusForbidden},
		"a bad token": {
			request{Method: http.MethodGet, Target: "/order", Header: map[string]string{"Authorization": "x"}},
			http.StatusUnauthorized,
		},
	} {
		if w := do(t, a, c.req); w.Code != c.status {
			t.Errorf("%s: %d, want %d", what, w.Code, c.status)
		}
	}
	ahead.Store(int64(time.Second))
	if w := do(t, a, buy); w.Code != http.StatusAccepted {
		t.Errorf("after the Retry-After: %d %s", w.Code, w.Body)
	}
	wantProblem(t, do(t, a, buy), http.StatusTooManyRequests, "RATE_LIMITED")
}

// Without a rate a user may ask as often as they like.
func TestNoUserRate(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for range 10 * a.Config.UserBurst {
		if w := do(t, a,
			request{Method: http.MethodPost, Target: "/voucher/seckill/5"}); w.Code != http.StatusAccepted {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}

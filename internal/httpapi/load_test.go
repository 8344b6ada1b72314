package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
)

// slowDesk sells to everybody, and takes its time.
func slowDesk(takes time.Duration) fakeDesk {
	return fakeDesk{buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
		time.Sleep(takes)
		return order.Order{ID: orderID, Status: order.Queued}, nil
	}}
}

// Twenty times as many come as there is room for, three times over: exactly the surplus is refused, at once, and those
// inside wait no longer than they would alone.
func TestOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const room, crowd, takes = 100, 2000, 50 * time.Millisecond
		a := newAPI(t, withDesk(slowDesk(takes)), func(cfg *Config) { cfg.MaxInFlight = room })
		type outcome struct {
			status     int
			retryAfter string
			took       time.Duration
		}
		want := map[outcome]int{
			{http.StatusAccepted, "", takes}:        room,
			{http.StatusServiceUnavailable, "2", 0}: crowd - room,
		}
		for wave := int64(1); wave <= 3; wave++ {
			var mu sync.Mutex
			got := map[outcome]int{}
			var answered sync.WaitGroup
			for range crowd {
				answered.Go(func() {
					began := time.Now()
					w := do(t, a, request{method: http.MethodPost, target: "/voucher/seckill/5"})
					mu.Lock()
					defer mu.Unlock()
					got[outcome{w.Code, w.Header().Get("Retry-After"), time.Since(began)}]++
				})
			}
			synctest.Wait() // those inside are at the desk, and all others are answered
			if load := a.Load(); load.InFlight != room || load.Refused != wave*(crowd-room) {
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

// full is an API whose only place is taken until leave is called.
func full(t *testing.T, change ...func(*Config)) (a *API, leave func()) {
	t.Helper()
	a = newAPI(t, append(change, func(cfg *Config) { cfg.MaxInFlight = 1 })...)
	if !a.load.enter() {
		t.Fatal("no place")
	}
	return a, a.load.leave
}

// Who is refused, and who gets through: those who look after the service, and whatever occupies no store.
func TestWhoIsRefusedInOverload(t *testing.T) {
	t.Parallel()
	a, leave := full(t, withWatcher(func(_ context.Context, _, _ int64, yield func(order.Order, bool) error) error {
		return errors.Join(yield(orderIn(order.Paid), true))
	}))
	admin := map[string]string{"Authorization": token(t, adminID, RoleAdmin)}
	nobody := map[string]string{"Authorization": ""}
	for _, c := range []struct {
		method, target string
		header         map[string]string
		full, empty    int
	}{
		{http.MethodPost, "/voucher/seckill/5", nil, http.StatusServiceUnavailable, http.StatusAccepted},
		{http.MethodPost, "/voucher-order/seckill/5", nil, http.StatusServiceUnavailable, http.StatusOK},
		{http.MethodPost, "/voucher/seckill/5", nobody, http.StatusServiceUnavailable, http.StatusUnauthorized}, // nobody looks at tokens
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
			return do(t, a, request{method: c.method, target: c.target, header: c.header}).Code
		}
		if got := ask(); got != c.full {
			t.Errorf("%s %s, full: %d, want %d", c.method, c.target, got, c.full)
		}
		leave()
		if got := ask(); got != c.empty {
			t.Errorf("%s %s, empty: %d, want %d", c.method, c.target, got, c.empty)
		}
		if !a.load.enter() {
			t.Fatalf("%s %s leaves nothing behind", c.method, c.target)
		}
	}
}

// What is said in overload is a whole answer, in both voices.
func TestOverloadIsTold(t *testing.T) {
	t.Parallel()
	a, _ := full(t)
	w := do(t, a, request{method: http.MethodPost, target: "/voucher/seckill/5"})
	wantProblem(t, w, http.StatusServiceUnavailable, "UNAVAILABLE")
	if w.Header().Get("Retry-After") != "2" || w.Header().Get("X-Request-Id") == "" {
		t.Errorf("headers %v", w.Header())
	}
	w = do(t, a, request{method: http.MethodPost, target: "/voucher-order/seckill/5", header: map[string]string{"Accept-Language": "zh"}})
	if want := `{"success":false,"code":"UNAVAILABLE","errorMsg":"系统繁忙，请稍后再试"}`; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A handler that panics leaves its place.
func TestPanicLeavesItsPlace(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withDesk(fakeDesk{buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) { panic("a bug") }}))
	if w := do(t, a, request{method: http.MethodPost, target: "/voucher/seckill/5"}); w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := a.Load().InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// With more than half of the places taken nobody keeps his only to wait: he is told what is known. What he asks for is
// checked all the same.
func TestNobodyWaitsInACrowd(t *testing.T) {
	t.Parallel()
	var waited []time.Duration
	a := newAPI(t, func(cfg *Config) { cfg.MaxInFlight = 4 }, withDesk(fakeDesk{
		buy: func(_ context.Context, _, _ int64, wait time.Duration) (order.Order, error) {
			waited = append(waited, wait)
			return order.Order{ID: orderID, Status: order.Queued}, nil
		},
		order: func(_ context.Context, _, _ int64, wait time.Duration) (order.Order, error) {
			waited = append(waited, wait)
			return orderIn(order.Queued), nil
		},
	}))
	for range 4 {
		for method, target := range map[string]string{http.MethodPost: "/voucher/seckill/5", http.MethodGet: "/order/5"} {
			if w := do(t, a, request{method: method, target: target + "?wait=1s"}); w.Code >= http.StatusBadRequest {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			wantProblem(t, do(t, a, request{method: method, target: target + "?wait=1h"}), http.StatusBadRequest, "INVALID")
		}
		a.load.enter()
	}
	if got, want := fmt.Sprint(waited), "[1s 1s 1s 1s 0s 0s 0s 0s]"; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
}

// Refusing has to be cheap: it is what there is to do for a crowd that is too large. It allocates as much as the refusal of
// what is sold out.
func TestRefusingInOverloadAllocatesLittle(t *testing.T) {
	a, _ := full(t)
	r := newRequest(t, t.Context(), request{method: http.MethodPost, target: "/voucher/seckill/5"})
	w := &discard{header: http.Header{}}
	handler := a.Handler()
	got := testing.AllocsPerRun(500, func() {
		clear(w.header)
		handler.ServeHTTP(w, r)
	})
	if w.status != http.StatusServiceUnavailable || got > 4+raceAllocs {
		t.Errorf("status %d, %v allocations, want at most 4", w.status, got)
	}
}

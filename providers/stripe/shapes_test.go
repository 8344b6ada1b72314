package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/providers/stripe/internal/settings"
	"seckill/providers/stripe/internal/wire"
	"seckill/providers/stripe/standin"
)

// request is what the program sends to Stripe.
type request struct {
	method, path, query, body string
}

// TestShapes sends every request that the program makes to stripe-mock, too, which holds them to Stripe's own
// description of its API: a path, a parameter or a type that Stripe does not have is an error there.
func TestShapes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var all []request
	r := openRig(t, standin.Options{Saw: func(req *http.Request, body []byte) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, request{req.Method, req.URL.Path, req.URL.RawQuery, string(body)})
	}}, nil)
	session, reference := r.paid()
	r.begin(map[string]any{"language": "zh", "payBefore": nil})
	r.call(wire.Cancel, map[string]any{"reference": session})
	later := r.begin(map[string]any{"id": "pay_2"}).Reference
	if err := errors.Join(r.stripe.Pay(later, true), r.stripe.GiveBack(session, 10)); err != nil {
		t.Fatal(err)
	}
	r.call(wire.Cancel, map[string]any{"id": "pay_2", "reference": later})
	r.call(wire.Refund, map[string]any{"refundId": "r1", "reference": reference, "amount": 100})
	r.call(wire.ReadRefund, map[string]any{"refundId": "r1", "reference": session, "amount": 100})
	if err := r.stripe.Dispute(session, 100, "lost"); err != nil {
		t.Fatal(err)
	}
	r.call(wire.Refund, map[string]any{"refundId": "r2", "reference": reference, "amount": 100})
	r.stripe.AddEndpoint("http://127.0.0.1:1/stripe/", "whsec_1", "refund.failed")
	for _, args := range [][]string{
		{"-wait", "1ms", "-create", "-url", r.url},
		{"-wait", "1ms", "-create", "-url", "http://127.0.0.1:1"},
		{"-create", "-url", "http://127.0.0.1:2"},
	} {
		if out, _ := r.check(args...); out == "" {
			t.Errorf("%v says nothing", args)
		}
	}

	mu.Lock()
	defer mu.Unlock()
	kinds, mock := map[string]bool{}, startMock(t)
	for _, s := range all {
		parts := strings.Split(s.path, "/")
		for i, p := range parts {
			if strings.Contains(p, "_") && !strings.HasSuffix(p, "s") || strings.Contains(p, "_test_") {
				parts[i] = "{id}"
			}
		}
		kinds[s.method+" "+strings.Join(parts, "/")] = true
		if status, text := mock(s); status != http.StatusOK {
			t.Errorf("stripe-mock answers %d to %+v: %s", status, s, text)
		}
	}
	for _, want := range []string{
		"GET /v1/account", "GET /v1/checkout/sessions", "GET /v1/checkout/sessions/{id}", "GET /v1/disputes",
		"GET /v1/events", "GET /v1/payment_intents/{id}", "GET /v1/refunds", "GET /v1/webhook_endpoints",
		"POST /v1/checkout/sessions", "POST /v1/checkout/sessions/{id}/expire", "POST /v1/refunds",
		"POST /v1/webhook_endpoints", "POST /v1/webhook_endpoints/{id}",
	} {
		if !kinds[want] {
			t.Errorf("no %s was sent: %v", want, kinds)
		}
		delete(kinds, want)
	}
	if len(kinds) > 0 {
		t.Errorf("also sent: %v", kinds)
	}
	if status, _ := mock(request{"POST", "/v1/refunds", "", "charge=ch_1&colour=red"}); status == http.StatusOK {
		t.Error("stripe-mock takes a parameter that Stripe does not have")
	}
}

// startMock builds and starts stripe-mock, and returns a function that sends a request to it.
func startMock(t *testing.T) func(request) (status int, text string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "stripe-mock")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/stripe/stripe-mock")
	build.Dir = filepath.Join("..", "..", "tools", "stripe")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at := "127.0.0.1:" + freePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	mock := exec.CommandContext(ctx, program, "-http-addr", at)
	if err := mock.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = mock.Wait() // it was killed
	})
	send := func(s request) (int, string, error) {
		to := "http://" + at + s.path + "?" + s.query
		req, err := http.NewRequestWithContext(ctx, s.method, to, strings.NewReader(s.body))
		if err != nil {
			return 0, "", err
		}
		req.Header.Set("Authorization", "Bearer sk_test_123")
		if s.method == http.MethodPost {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return res.StatusCode, string(text), err
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { //nolint:mnd // it is starting
		if _, _, err := send(request{"GET", "/v1/account", "", ""}); err == nil {
			break
		} else if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	return func(s request) (int, string) {
		status, text, err := send(s)
		if err != nil {
			t.Error(err)
		}
		return status, text
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func settingNames() (names []string) {
	for _, s := range settings.All() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

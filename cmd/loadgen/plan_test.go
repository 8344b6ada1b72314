package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/checker"
	"seckill/internal/httpload"
	"seckill/test/box"
)

// TestUsage checks that a wrong command line is refused with the reason, before anything is done.
func TestUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args, want string
		code       int
	}{
		{"--help", "-first-user", exitVerified},
		{"-nonsense", "-nonsense", exitUsage},
		{"-buyers 0", "-buyers is 0", exitUsage},
		{"-stock -1", "-stock is -1", exitUsage},
		{"-url localhost:8080", "-url is", exitUsage},
		{"-curve square", "flat, ramp, spike", exitUsage},
		{"-rate -5", "-rate is -5", exitUsage},
		{"-wait 20s -timeout 10s", "-timeout is 10s", exitUsage},
		{"-duration 0s", "-duration is 0s", exitUsage},
		{"-tokens /does/not/exist", "/does/not/exist", exitUsage},
		{"-json /does/not/exist", "-json: open /does/not/exist", exitUsage},
		{"-buyers many", `"many" for flag -buyers (allowed: a whole number)`, exitUsage},
		{"-rate fast", `"fast" for flag -rate (allowed: a number)`, exitUsage},
		{"-duration 10", `"10" for flag -duration (allowed: a time such as 10s or 2m)`, exitUsage},
		{"now", `unexpected argument "now"`, exitUsage},
	}
	for _, tt := range tests {
		code, out, log := run(t.Context(), box.Secret, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(out+log, tt.want) {
			t.Errorf("%s: exit code %d, want %d, and %q in:\n%s%s", tt.args, code, tt.code, tt.want, out, log)
		}
	}
	for _, key := range []string{"", "short"} {
		if code, _, log := run(t.Context(), key); code != exitUsage || !strings.Contains(log, "SECKILL_JWT_SECRET") {
			t.Errorf("with the secret %q: exit code %d\n%s", key, code, log)
		}
	}
}

// TestRateOfTokens checks that -rate applies to the buyers with a token in the file, not to the number that would
// arrive without the file.
func TestRateOfTokens(t *testing.T) {
	t.Parallel()
	signer := tokens{secret: []byte(box.Secret), firstUser: 500, life: tokenLife}
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(signer.of(0)+"\n"+signer.of(1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := readPlan(environment{
		args: []string{"-voucher", "1", "-tokens", file, "-rate", "4"}, out: io.Discard, err: io.Discard,
		getenv: func(string) string { return "" },
	})
	if err != nil || p.buyers != 2 || p.duration != 500*time.Millisecond || p.curve.duration != p.duration {
		t.Errorf("%d buyers arrive within %v, %v of the curve, %v; want 2 within 500 ms",
			p.buyers, p.duration, p.curve.duration, err)
	}
}

// TestSecrets checks that buyers' tokens and the others' are signed with the secrets that the service wants.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const admins = "another-secret-for-admins-0123456789"
	settings := map[string]string{"SECKILL_JWT_SECRET": box.Secret, "SECKILL_JWT_ADMIN_SECRET": admins}
	signer, err := readTokens(func(name string) string { return settings[name] }, "", "", 500)
	if err != nil {
		t.Fatal(err)
	}
	service, err := authtoken.NewVerifier(authtoken.Rules{Secret: []byte(box.Secret), Admin: []byte(admins)})
	if err != nil {
		t.Fatal(err)
	}
	for role, token := range map[string]string{
		authtoken.RoleBuyer: signer.of(0), authtoken.RoleAdmin: signer.admin(), authtoken.RoleCrowd: signer.crowd(9),
	} {
		if who, err := service.Verify(token, time.Now()); err != nil || who.Role != role {
			t.Errorf("%q: %+v, %v", role, who, err)
		}
	}
	settings["SECKILL_JWT_ADMIN_SECRET"] = "short"
	if _, err := readTokens(func(name string) string { return settings[name] }, "", "", 500); err == nil {
		t.Error("a short secret of admins is taken")
	}
}

// TestNoService checks that a rehearsal that cannot start is not reported as verified.
func TestNoService(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if code, _, log := run(ctx, box.Secret, "-url", "http://127.0.0.1:1"); code != exitFindings ||
		!strings.Contains(log, "creating a voucher") {
		t.Errorf("exit code %d: %s", code, log)
	}
}

// TestVoucherNotShown checks the hint for a hidden voucher: it may belong to a rehearsal, which needs tokens that the
// service accepts.
func TestVoucherNotShown(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotFound, `{"success":false,"code":"NOT_FOUND","errorMsg":"There is no such voucher."}`)
	}))
	defer server.Close()
	const want = "There is no such voucher. (a rehearsal"
	if code, _, log := run(t.Context(), box.Secret, "-url", server.URL, "-voucher", "7"); code != exitFindings ||
		!strings.Contains(log, want) || !strings.Contains(log, "SECKILL_JWT_SECRET") {
		t.Errorf("exit code %d: %s", code, log)
	}
}

// TestInterruptedBeforeTheSale sends Ctrl-C before the first buyer.
func TestInterruptedBeforeTheSale(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var reads atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if reads.Add(1) == 2 {
			cancel()
		}
		answer(w, http.StatusOK, `{"success":true,"data":{"id":7,"stock":1,"issued":1,"saleState":"preparing"}}`)
	}))
	defer server.Close()
	if code, _, log := run(ctx, box.Secret, "-url", server.URL, "-voucher", "7"); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, log)
	}
}

// TestCurve checks that buyers arrive in order, within the duration, as densely as the curve's name says, and at equal
// times with equal seeds.
func TestCurve(t *testing.T) {
	t.Parallel()
	const n, d = 10_000, 10 * time.Second
	// The share of the buyers that arrives in the first half of the time.
	firstHalf := map[string]float64{"flat": 0.5, "ramp": 0.25, "spike": 0.9241}
	for name, want := range firstHalf {
		c, err := newCurve(name, d)
		if err != nil {
			t.Fatal(err)
		}
		early, last := 0, time.Duration(0)
		for i := range n {
			at := c.arrival(i, n, 7)
			if at < last || at > d {
				t.Fatalf("%s: buyer %d arrives at %v, the one before at %v", name, i, at, last)
			}
			if at != c.arrival(i, n, 7) {
				t.Fatalf("%s: buyer %d arrives at different times with the same seed", name, i)
			}
			if last = at; at < d/2 {
				early++
			}
		}
		if got := float64(early) / n; got < want-0.001 || got > want+0.001 {
			t.Errorf("%s: %.4f of the buyers arrive in the first half of the time, want %.4f", name, got, want)
		}
	}
}

// TestClassify checks that an unrecognized answer is Unknown, never a success or a refusal.
func TestClassify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		body   string
		want   result
	}{
		{
			202, `{"success":true,"data":{"orderId":"12","status":"queued"}}`,
			result{outcome: checker.Accepted, order: 12},
		},
		{409, `{"code":"ALREADY_BOUGHT","data":{"orderId":"12"}}`, result{outcome: checker.Held, order: 12}},
		{201, `{}`, result{code: "status 201 without an order id"}},
		{201, `{"orderId":"012"}`, result{code: "status 201 without an order id"}},
		{201, `{"orderId":"99999999999999999999"}`, result{code: "status 201 without an order id"}},
		{409, `{"code":"SOLD_OUT"}`, result{outcome: checker.Refused, code: "SOLD_OUT"}},
		{503, `{"code":"PAUSED"}`, result{outcome: checker.Later, code: "PAUSED"}},
		{429, `<html>`, result{outcome: checker.Later, code: "status 429"}},
		{503, `<html>`, result{code: "status 503"}},
		{504, `{"code":"UNKNOWN_OUTCOME"}`, result{code: "UNKNOWN_OUTCOME"}},
		{500, `{"code":"INTERNAL`, result{code: "status 500"}},
	}
	for _, tt := range tests {
		if got := classify(httpload.Answer{Status: tt.status, Body: []byte(tt.body)}, nil); got != tt.want {
			t.Errorf("%d %s means %+v, want %+v", tt.status, tt.body, got, tt.want)
		}
	}
}

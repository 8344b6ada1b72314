package seckill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// buildTime and startTime are how long the service may take to be built and to start, on a busy machine.
const buildTime, startTime = 10 * time.Minute, 2 * time.Minute

// service starts the real service in its embedded mode, and returns its address and a function that signs tokens.
func service(t *testing.T) (at string, token func(args ...string) string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "server")
	building, cancel := context.WithTimeout(t.Context(), buildTime)
	defer cancel()
	build := exec.CommandContext(building, "go", "build", "-o", program, "./cmd/server")
	build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the service: %v\n%s", err, out)
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "SECKILL_") })
	env = append(env, "SECKILL_DATA_DIR="+filepath.Join(dir, "data"), "SECKILL_HTTP_ADDR="+free(t),
		"SECKILL_OPS_ADDR="+free(t))
	at = "http://" + strings.TrimPrefix(env[len(env)-2], "SECKILL_HTTP_ADDR=")
	var log strings.Builder
	server := exec.Command(program)
	server.Dir, server.Env, server.Stdout, server.Stderr = dir, env, &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for late := time.Now().Add(startTime); ; time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get(at + "/readyz")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(late) {
			t.Fatalf("the service does not start: %v", err)
		}
	}
	return at, func(args ...string) string {
		t.Helper()
		sign := exec.CommandContext(t.Context(), program, append([]string{"token"}, args...)...)
		sign.Dir, sign.Env = dir, env
		out, err := sign.Output()
		if err != nil {
			t.Fatalf("server token %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
}

// free returns an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// A sale at the real service, from its creation to the last unit.
func TestRealSale(t *testing.T) {
	t.Parallel()
	at, token := service(t)
	buyer := func(user string) *Buyer {
		t.Helper()
		b, err := NewBuyer(at, token("-user", user))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	id := createSale(t, at, token("-user", "1", "-role", "admin"))
	first, err := buyer("42").Buy(t.Context(), id, nil)
	if err != nil || first.OrderId == "" {
		t.Fatalf("the first buyer: %+v, %v", first, err)
	}
	if again, err := buyer("42").Buy(t.Context(), id, nil); err != nil || again.OrderId != first.OrderId {
		t.Errorf("the same buyer again: %+v, %v; want order %s", again, err, first.OrderId)
	}
	var refusal *Refusal
	if _, err := buyer("43").Buy(t.Context(), id, nil); !errors.As(err, &refusal) || refusal.Code != "SOLD_OUT" ||
		refusal.Status != http.StatusConflict {
		t.Errorf("the second buyer: %v", err)
	}
	shown, err := buyer("42").Client().ShowOrderWithResponse(t.Context(), first.OrderId, nil)
	if err == nil {
		err = Check(shown.HTTPResponse, shown.Body)
	}
	if err != nil || shown.JSON200 == nil || shown.JSON200.Data.Id != first.OrderId ||
		shown.JSON200.Data.VoucherId != id {
		t.Errorf("the order: %+v, %v", shown, err)
	}
}

// createSale creates a sale of one unit, which the client has no route for, and returns its id.
func createSale(t *testing.T, at, token string) int64 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/voucher/seckill",
		strings.NewReader(fmt.Sprintf(
			`{"shopId": 1, "title": "100 for 10", "payValue": 1000, "actualValue": 10000, "stock": 1, `+
				`"beginTime": %q, "endTime": %q}`,
			time.Now().Add(-time.Minute).Format(time.RFC3339), time.Now().Add(time.Hour).Format(time.RFC3339))))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var created struct{ Data struct{ ID int64 } }
	if err := json.NewDecoder(answer.Body).Decode(&created); err != nil ||
		answer.StatusCode != http.StatusCreated || created.Data.ID == 0 {
		t.Fatalf("creating a voucher: %d, %+v, %v", answer.StatusCode, created, err)
	}
	return created.Data.ID
}

// What asks for it is repeated, after the time that the service asks for; what is decided is not.
func TestRetries(t *testing.T) {
	t.Parallel()
	refuse := func(status int, code string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "code": code, "errorMsg": "no"})
		}
	}
	accept := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(`{"success": true, "data": {"orderId": "7", "status": "queued"}}`))
	}
	already := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(
			`{"success": false, "code": "ALREADY_BOUGHT", "data": {"orderId": "7", "status": "unpaid"}}`))
	}
	hangUp := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	proxy := func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }
	for name, tc := range map[string]struct {
		answers []func(http.ResponseWriter)
		code    string // of the refusal in the end; "": order 7
	}{
		"accepted":                  {[]func(http.ResponseWriter){accept}, ""},
		"busy, then accepted":       {[]func(http.ResponseWriter){refuse(503, "UNAVAILABLE"), accept}, ""},
		"unknown, then bought":      {[]func(http.ResponseWriter){refuse(504, "UNKNOWN_OUTCOME"), already}, ""},
		"no answer, then bought":    {[]func(http.ResponseWriter){hangUp, already}, ""},
		"a proxy's page, then sold": {[]func(http.ResponseWriter){proxy, refuse(409, "SOLD_OUT")}, "SOLD_OUT"},
		"limited, then not started": {
			[]func(http.ResponseWriter){refuse(429, "RATE_LIMITED"), refuse(403, "NOT_STARTED")}, "NOT_STARTED",
		},
		"a wrong token": {[]func(http.ResponseWriter){refuse(401, "UNAUTHENTICATED")}, "UNAUTHENTICATED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer token" || r.URL.Path != "/voucher/seckill/9" {
					t.Errorf("asked %s with %q", r.URL, r.Header.Get("Authorization"))
				}
				tc.answers[min(asked.Add(1), int64(len(tc.answers)))-1](w)
			}))
			t.Cleanup(at.Close)
			b, err := NewBuyer(at.URL, "token")
			if err != nil {
				t.Fatal(err)
			}
			order, err := b.Buy(t.Context(), 9, nil)
			var refusal *Refusal
			switch {
			case tc.code == "" && (err != nil || order.OrderId != "7"):
				t.Errorf("%+v, %v; want order 7", order, err)
			case tc.code != "" && (!errors.As(err, &refusal) || refusal.Code != tc.code):
				t.Errorf("%v; want %s", err, tc.code)
			}
			if got := asked.Load(); got != int64(len(tc.answers)) {
				t.Errorf("asked %d times, want %d", got, len(tc.answers))
			}
		})
	}
}

// Retry-After is waited for, and a context ends the waiting.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	header := http.Header{"Retry-After": {"3600"}}
	err := Check(&http.Response{StatusCode: http.StatusServiceUnavailable, Header: header},
		[]byte(`{"success": false, "code": "PAUSED"}`))
	if wait, again := retry(err, firstPause); !again || wait < time.Hour {
		t.Errorf("%v is repeated (%t) after %s", err, again, wait)
	}
	asked := make(chan struct{}, 1)
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
		asked <- struct{}{}
	}))
	t.Cleanup(at.Close)
	b, err := NewBuyer(at.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := b.Buy(ctx, 9, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A caller whose context ends after an unknown outcome must not take that for a refusal.
func TestUnknownIsNoRefusal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusGatewayTimeout)
		_, _ = w.Write([]byte(`{"success": false, "code": "UNKNOWN_OUTCOME"}`))
		// Once the answer has been read; sooner, the try itself is cancelled.
		time.AfterFunc(100*time.Millisecond, cancel)
	}))
	t.Cleanup(at.Close)
	b, err := NewBuyer(at.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Buy(ctx, 9, nil)
	if refusal := (*Refusal)(nil); !errors.Is(err, context.Canceled) || errors.As(err, &refusal) {
		t.Errorf("%v is a refusal", err)
	}
}

// What no repetition mends is an error at once.
func TestFinalErrors(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"shop.example.com", "https://", "ftp://shop", "http://shop:x"} {
		if _, err := NewBuyer(server, "token"); err == nil {
			t.Errorf("a buyer at %q", server)
		}
	}
	for _, token := range []string{"", "to\nken"} {
		if _, err := NewBuyer("http://shop", token); err == nil {
			t.Errorf("a buyer with the token %q", token)
		}
	}
	var asked atomic.Int64
	empty := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 1 {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	plain, secure := httptest.NewServer(empty), httptest.NewUnstartedServer(empty)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the buyer who does not trust it
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	for server, want := range map[string]string{plain.URL: "names no order", secure.URL: "certificate"} {
		b, err := NewBuyer(server, "token")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), startTime)
		if _, err = b.Buy(ctx, 9, nil); err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want that it %s", err, want)
		}
		cancel()
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestValues checks that texts and lists of answers are values, which print as what they are, and that an absent one is
// the zero value.
func TestValues(t *testing.T) {
	t.Parallel()
	const line = `{"at": "2026-01-01T12:00:00Z", "status": "queued", "by": "owner"}`
	for body, want := range map[string]string{
		`{"id": "7", "status": "paid", "history": [` + line + `]}`: "paid 1 0",
		`{"id": "7", "refunds": [{"id": "r"}]}`:                    " 0 1",
	} {
		var order Order
		if err := json.Unmarshal([]byte(body), &order); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(order.Status, " ", len(order.History), " ", len(order.Refunds)); got != want {
			t.Errorf("%s is %q, want %q", body, got, want)
		}
	}
}

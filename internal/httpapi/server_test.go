package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/testkit/shoptest"
	"seckill/internal/voucher"
)

func TestHugeHeaders(t *testing.T) {
	t.Parallel()
	addr := start(t, newAPI(t).Server(""))
	conn, r := dial(t, addr)
	go func() {
		// Cut off by the server.
		_, _ = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Pad: %s\r\n\r\n", strings.Repeat("x", 1<<20))
	}()
	if resp, _ := answerOn(t, r); resp.Status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", resp.Status)
	}
	conn, r = dial(t, addr)
	if _, err := fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, body := answerOn(t, r); resp.Status != http.StatusOK || body != healthzBody {
		t.Errorf("afterwards: %d %s", resp.Status, body)
	}
}

// Waiting longer than the read timeout is waiting, not a broken connection; and every timeout is set, the write timeout
// beyond the longest wait.
func TestServerTimeouts(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPurchases(fakePurchases{
		OnBuy: func(ctx context.Context, _, _ int64, wait time.Duration) (order.Order, error) {
			select {
			case <-ctx.Done():
				return order.Order{}, ctx.Err()
			case <-time.After(wait):
				return order.Order{ID: 1, Status: order.Unpaid}, nil
			}
		},
	}))
	for name, s := range map[string]*http.Server{
		"public": a.Server(":1"), "operations": a.OperationsServer(":1", http.NotFoundHandler()),
	} {
		if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= shoptest.MaxWait ||
			s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 || s.ErrorLog == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
	s := a.Server("")
	// In which a busy machine sends and reads a request.
	s.ReadHeaderTimeout, s.ReadTimeout = 2*time.Second, 2*time.Second
	addr := start(t, s)
	conn, r := dial(t, addr)
	if _, err := fmt.Fprintf(conn, "POST /voucher/seckill/5?wait=3s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n",
		token(t, buyerID, "")); err != nil {
		t.Fatal(err)
	}
	if resp, body := answerOn(t, r); resp.Status != http.StatusCreated {
		t.Errorf("%d %s", resp.Status, body)
	}
	// A body that never arrives ends in a refusal.
	conn, r = dial(t, addr)
	if _, err := fmt.Fprintf(conn, "POST /voucher HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: 10\r\n\r\n{", token(t, adminID, authtoken.RoleAdmin)); err != nil {
		t.Fatal(err)
	}
	if resp, body := answerOn(t, r); resp.Status != http.StatusBadRequest || !strings.Contains(body, `"body"`) {
		t.Errorf("%d %s", resp.Status, body)
	}
	// So does a header that never ends, with the connection.
	conn, r = dial(t, addr)
	if _, err := fmt.Fprint(conn, "POST /voucher HTTP/1.1\r\nHost: x\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Errorf("the connection stays open: %v", err)
	}
}

// HEAD is GET without the body: the same status and headers, and the connection stays open.
func TestHeadIsGetWithoutBody(t *testing.T) {
	t.Parallel()
	addr := start(t, newAPI(t).Server(""))
	conn, r := dial(t, addr)
	head := func(method, target string) (int, http.Header) {
		t.Helper()
		if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nX-Request-Id: a\r\n\r\n",
			method, target, token(t, buyerID, "")); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method}) // what follows a HEAD is the next answer
		if err != nil {
			t.Fatalf("%s %s: %v", method, target, err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatalf("%s %s: %v", method, target, err)
		}
		resp.Header.Del("Date")
		return resp.StatusCode, resp.Header
	}
	for target, status := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/order": 200, "/voucher/list/5": 200, "/voucher/5": 404, "/order/5": 404,
		"/order/x": 400, "/nothing": 404,
	} {
		gotStatus, got := head(http.MethodHead, target)
		_, want := head(http.MethodGet, target)
		if diff := cmp.Diff(want, got); diff != "" || gotStatus != status || got.Get("Content-Length") == "" {
			t.Errorf("HEAD %s: %d, headers (-GET +HEAD):\n%s", target, gotStatus, diff)
		}
	}
}

// A caller who hangs up cancels what they wait for.
func TestHangUpCancels(t *testing.T) {
	t.Parallel()
	waiting, cancelled := make(chan struct{}), make(chan struct{})
	a := newAPI(t, withPurchases(fakePurchases{
		OnBuy: func(ctx context.Context, _, _ int64, _ time.Duration) (order.Order, error) {
			close(waiting)
			<-ctx.Done()
			close(cancelled)
			return order.Order{}, ctx.Err()
		},
	}))
	conn, _ := dial(t, start(t, a.Server("")))
	if _, err := fmt.Fprintf(conn, "POST /voucher/seckill/5?wait=30s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n",
		token(t, buyerID, "")); err != nil {
		t.Fatal(err)
	}
	<-waiting
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-cancelled:
	case <-time.After(time.Minute):
		t.Error("not cancelled")
	}
}

// A keep-alive connection survives refusals.
func TestConnectionSurvivesRefusals(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *setup) {
		cfg.Vouchers = &fakeVouchers{Get: func(int64) (voucher.Shown, error) { panic("a bug") }}
	})
	conn, r := dial(t, start(t, a.Server("")))
	for _, c := range []struct {
		request string
		status  int
	}{
		{"GET /voucher/5", http.StatusInternalServerError},
		{"GET /nothing", http.StatusNotFound},
		{"POST /voucher/seckill/5", http.StatusUnauthorized},
		{"PUT /healthz", http.StatusMethodNotAllowed},
		{"GET /healthz", http.StatusOK},
	} {
		if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n\r\n", c.request); err != nil {
			t.Fatal(err)
		}
		if resp, body := answerOn(t, r); resp.Status != c.status || resp.Closes {
			t.Errorf("%s: %d %s", c.request, resp.Status, body)
		}
	}
}

// TestUnread checks that what net/http refuses before a handler sees it is answered with the same status as ever.
func TestUnread(t *testing.T) {
	t.Parallel()
	addr := start(t, newAPI(t).Server(""))
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"no Host":        {"GET /healthz HTTP/1.1\r\n\r\n", http.StatusBadRequest},
		"two Hosts":      {"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", http.StatusBadRequest},
		"no HTTP":        {"hello\r\n\r\n", http.StatusBadRequest},
		"a bad header":   {"GET / HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n", http.StatusBadRequest},
		"a large header": {"GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 30<<10) + "\r\n\r\n", 431},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, r := dial(t, addr)
			if _, err := io.WriteString(conn, c.request); err != nil {
				t.Fatal(err)
			}
			if resp, body := answerOn(t, r); resp.Status != c.status || !resp.Closes {
				t.Errorf("%d %s", resp.Status, body)
			}
		})
	}
}

// TestStarting checks the answers of an instance that waits for its stores.
func TestStarting(t *testing.T) {
	t.Parallel()
	h, err := httpapi.Starting()
	if err != nil {
		t.Fatal(err)
	}
	streams, quiet := httpkit.NewStreams(1, 1), slog.New(slog.DiscardHandler)
	addr := start(t, httpapi.NewServer("", h, shoptest.MaxWait, streams, quiet))
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/healthz":           {http.StatusOK, `"ok"`},
		"/readyz":            {http.StatusServiceUnavailable, `"starting"`},
		"/voucher/seckill/5": {http.StatusServiceUnavailable, `"UNAVAILABLE"`},
	} {
		conn, r := dial(t, addr)
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		resp, body := answerOn(t, r)
		if resp.Status != want.status || !strings.Contains(body, want.text) || !resp.Closes {
			t.Errorf("%s: %d %s, closes: %t", path, resp.Status, body, resp.Closes)
		}
	}
}

// answerHead is the head of an answer.
type answerHead struct {
	Status int
	Closes bool // the server closes the connection
}

// answerOn reads one answer from a connection.
func answerOn(t *testing.T, r *bufio.Reader) (resp answerHead, body string) {
	t.Helper()
	got, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return answerHead{Status: got.StatusCode, Closes: got.Close}, string(text)
}

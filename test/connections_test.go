package test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"seckill/test/box"
)

// TestConnectionLimit fills the public listener with idle connections. The next request gets a readable refusal, the
// metrics show it, and once the idle connections are closed the service answers again.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	const limit = 20
	srv := box.NewServer(t, "embedded", map[string]string{
		"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data"), "SECKILL_JWT_SECRET": box.Secret,
		"SECKILL_MAX_CONNECTIONS": "20",
	})
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	showsConnections(t, srv, "seckill_http_connections 0") // after the readiness check's connection has closed
	open := func() net.Conn {
		t.Helper()
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Addr)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var held []net.Conn
	for range limit {
		c := open()
		held = append(held, c)
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n"); err != nil { // an unfinished request
			t.Fatal(err)
		}
	}
	refused := open()
	defer refused.Close()
	if _, err := io.WriteString(refused,
		"POST /voucher/seckill/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(refused), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body) // until the connection ends
	if err != nil {
		t.Fatal(err)
	}
	var problem struct {
		Code, Type, ErrorMsg string
		Status               int
		Success              *bool
	}
	if err := json.Unmarshal(body, &problem); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "2" ||
		problem.Code != "UNAVAILABLE" ||
		problem.Status != res.StatusCode || problem.Success == nil || *problem.Success || problem.ErrorMsg == "" ||
		!res.Close || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") {
		t.Errorf("beyond the limit: %d %v %s", res.StatusCode, res.Header, body)
	}

	showsConnections(t, srv, "seckill_http_connections 20", "seckill_http_connections_refused_total 1")
	for _, c := range held {
		_ = c.Close()
	}
	box.Eventually(t, "the end of the idle connections", func() error {
		if strings.Contains(srv.Metrics(t), "seckill_http_connections 20\n") {
			return errors.New("all of them are open")
		}
		return nil
	})
	box.NewClient(t).Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: srv.URL("/healthz")})
}

// showsConnections waits until the metrics contain these lines about connections.
func showsConnections(t *testing.T, srv *box.Server, lines ...string) {
	t.Helper()
	box.Eventually(t, "the metrics of connections", func() error {
		metrics := srv.Metrics(t)
		for _, line := range lines {
			if !strings.Contains(metrics, line+"\n") {
				return errors.New("the metrics have no line " + line)
			}
		}
		return nil
	})
}

package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"seckill/internal/httpapi"
)

// TestUnread: what net/http refuses before a handler sees it is answered with a problem document too.
func TestUnread(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newAPI(t).Server("")
	served := make(chan error, 1)
	go func() { served <- s.Serve(httpapi.Unread(l)) }()
	t.Cleanup(func() {
		_ = s.Shutdown(context.WithoutCancel(t.Context()))
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	for name, c := range map[string]struct {
		request string
		status  int
		code    string
		detail  string
	}{
		"no Host": {"GET /healthz HTTP/1.1\r\n\r\n", 400, "INVALID", "no Host header"},
		"two Hosts": {
			"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "INVALID", "cannot be read",
		},
		"no host":      {"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "INVALID", "Host header"},
		"no HTTP":      {"hello\r\n\r\n", 400, "INVALID", "cannot be read"},
		"TLS":          {"\x16\x03\x01\x00\xa5\r\n\r\n", 400, "INVALID", "cannot be read"},
		"a bad header": {"GET / HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n", 400, "INVALID", "cannot be read"},
		"a large header": {"GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 30<<10) +
			"\r\n\r\n", 431, "TOO_LARGE", "header is larger"},
		"an unknown encoding": {
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400, "INVALID", "cannot be read",
		},
		"another protocol": {"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 400, "INVALID", "cannot be read"},
		"a good one":       {"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404, "NOT_FOUND", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, r := dial(t, l.Addr().String())
			if _, err := io.WriteString(conn, c.request); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			var p struct {
				Type, Title, Detail, Code, ErrorMsg string
				Status                              int
				Success                             *bool
			}
			if err := json.Unmarshal(body, &p); err != nil || resp.StatusCode != c.status ||
				p.Status != c.status || p.Code != c.code ||
				p.Type == "" || p.Title == "" || p.ErrorMsg == "" || p.Success == nil || *p.Success ||
				!strings.Contains(p.Detail, c.detail) {
				t.Errorf("%d %s: %v", resp.StatusCode, body, err)
			}
			if h := resp.Header; h.Get("Content-Type") != "application/problem+json" ||
				len(h.Get("X-Request-Id")) < 8 || !resp.Close {
				t.Errorf("header %v", h)
			}
		})
	}
}

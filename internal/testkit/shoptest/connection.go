package shoptest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/internal/kit/bulkhead"
)

// Start serves the API's own server on a free port until the test ends and returns the address.
func Start(t *testing.T, s *http.Server) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	s.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
		if state == http.StateClosed {
			conns.Done()
		}
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close() // cuts what a test has left open
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
		conns.Wait() // a connection that was refused lingers for half a second
	})
	return l.Addr().String()
}

// Dial opens a connection that ends with the test and gives up after ten seconds.
func Dial(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// Begin sends the head of a request up to its Authorization header, and then rest: more headers, the empty line, and
// perhaps a body.
func Begin(t *testing.T, conn net.Conn, route, authorization, rest string) {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: %s\r\n"+
		"%s", route, authorization, rest); err != nil {
		t.Fatal(err)
	}
}

// Saturate takes all permits of requests in flight, except those of admins, until release is called.
func Saturate(a *API) (release func()) {
	var permits []bulkhead.Permit
	for _, c := range []bulkhead.Class{bulkhead.Purchase, bulkhead.OwnRead, bulkhead.PublicRead} {
		for s, ok := a.Config.InFlight.Try(c); ok; s, ok = a.Config.InFlight.Try(c) {
			permits = append(permits, s)
		}
	}
	return func() {
		for _, s := range permits {
			s.Release()
		}
	}
}

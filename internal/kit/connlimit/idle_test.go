package connlimit

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
)

// ahead lets a listener's clock be set forward.
func ahead(l *Listener) (by *atomic.Int64) {
	by = new(atomic.Int64)
	l.now = func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
	return by
}

// dialFrom connects from an address of this machine, with a minute for everything.
func dialFrom(t *testing.T, l *Listener, address string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t *testing.T, c net.Conn, path string) {
	t.Helper()
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%d, %v", res.StatusCode, err)
	}
	_ = res.Body.Close() // it was read
}

// ended reports whether a connection was closed by the server; it has nothing to read.
func ended(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

// Connections that stay open and ask nothing any more keep nobody out: they make room once they are idle for five
// seconds. One with a request under way is left alone.
func TestIdleConnectionsYield(t *testing.T) {
	t.Parallel()
	l := start(t, 3)
	clock, hold := ahead(l), make(chan struct{})
	idled := serve(t, l, hold)
	idle, held := []net.Conn{dial(t, l), dial(t, l)}, dial(t, l)
	for _, c := range idle {
		ask(t, c, "/")
		hear(t, c)
		<-idled
	}
	ask(t, held, "/held")
	await(t, l, 3, 0)
	clock.Store(int64(IdleFor - time.Second))
	if status, body := get(t, l, "/"); status != http.StatusServiceUnavailable {
		t.Errorf("with two that were idle for a moment: %d %q", status, body)
	}
	clock.Store(int64(IdleFor + time.Second))
	if status, body := get(t, l, "/"); status != http.StatusOK {
		t.Errorf("with two idle connections: %d %q", status, body)
	}
	for _, c := range idle {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("an idle connection: %v, want the end", err)
		}
	}
	close(hold)
	hear(t, held)
}

// 300 connections of one peer, which ask nothing, at a bound of 300: after five seconds none of thirty buyers is
// refused, though the peer connects again whenever it is closed. An idle buyer keeps their connection meanwhile.
func TestThePeerThatHoldsMostYieldsFirst(t *testing.T) {
	t.Parallel()
	const limit = 300
	l := start(t, limit)
	clock := ahead(l)
	idled := serve(t, l, nil)
	calm := dialFrom(t, l, "127.0.0.2")
	ask(t, calm, "/")
	hear(t, calm)
	<-idled
	for range limit - 1 {
		dialFrom(t, l, "127.0.0.3")
	}
	await(t, l, limit, 0)
	clock.Store(int64(IdleFor + time.Second))
	for range 30 {
		if status, body := get(t, l, "/"); status != http.StatusOK {
			t.Errorf("a buyer: %d %q", status, body)
		}
		dialFrom(t, l, "127.0.0.3")
	}
	if ended(t, calm) {
		t.Error("the only connection of a peer was closed, and another had hundreds")
	}
}

// Proxies are exempt, whatever they hold: where nobody else is idle, the next one is refused.
func TestProxiesKeepIdleConnections(t *testing.T) {
	t.Parallel()
	l := start(t, 3)
	l.exempt = func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.4") }
	clock := ahead(l)
	serve(t, l, nil)
	for range 3 {
		dialFrom(t, l, "127.0.0.4")
	}
	await(t, l, 3, 0)
	clock.Store(int64(IdleFor + time.Second))
	if status, _ := get(t, l, "/"); status != http.StatusServiceUnavailable {
		t.Errorf("%d, want the refusal", status)
	}
}

// A listener under another one, as httpapi's is, hears of its connections all the same.
func TestWatchSeesThroughWrappers(t *testing.T) {
	t.Parallel()
	l := start(t, 1)
	dial(t, l)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	own, is := c.(*conn)
	if !is {
		t.Fatalf("%T", c)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute}
	l.Watch(server)
	server.ConnState(wrapped{c}, http.StateIdle)
	if own.idleSince.Load() == busy {
		t.Error("idle, and not known to be")
	}
	server.ConnState(wrapped{c}, http.StateActive)
	if own.idleSince.Load() != busy {
		t.Error("busy, and taken for idle")
	}
}

type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }

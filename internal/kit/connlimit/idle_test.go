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

// ahead makes a listener's clock adjustable: it is ahead by the returned value.
func ahead(l *Listener) (by *atomic.Int64) {
	by = new(atomic.Int64)
	l.now = func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
	return by
}

// dialFrom connects from an address of this machine, with a deadline of a minute.
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
	_ = res.Body.Close() // the body was read
}

// ended reports whether the server has closed a connection on which nothing is left to read.
func ended(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

// Idle connections keep nobody out: they are closed after five seconds without a request. A connection with a request
// under way stays open.
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

// One peer holds 300 silent connections at a limit of 300. After five seconds none of thirty buyers is refused,
// although the peer reconnects whenever it is closed. An idle buyer keeps their connection.
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

// A peer that opens another connection whenever one is closed has none that was idle for long. It yields half of the
// limit to others all the same, for a minute.
func TestACrowdingPeerGetsHalf(t *testing.T) {
	t.Parallel()
	const limit, half = 300, 150
	l := start(t, limit)
	clock := ahead(l)
	serve(t, l, nil)
	for range limit {
		dialFrom(t, l, "127.0.0.3")
	}
	await(t, l, limit, 0)
	dialFrom(t, l, "127.0.0.3")
	await(t, l, limit, 1)
	for range 30 {
		if status, body := get(t, l, "/"); status != http.StatusOK {
			t.Fatalf("a buyer: %d %q", status, body)
		}
	}
	await(t, l, half, 1)
	for range half {
		dialFrom(t, l, "127.0.0.3")
	}
	await(t, l, half, 1+half)
	clock.Store(int64(crowdedFor + time.Second))
	dialFrom(t, l, "127.0.0.3")
	await(t, l, half+1, 1+half)
}

// Proxies are exempt, however many connections they hold: if nobody else is idle, the next connection is refused.
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
	if status, _ := get(t, l, "/"); status != http.StatusServiceUnavailable {
		t.Errorf("%d, want the refusal", status)
	}
	clock.Store(int64(IdleFor + time.Second))
	if status, _ := get(t, l, "/"); status != http.StatusServiceUnavailable {
		t.Errorf("%d, want the refusal", status)
	}
}

// A listener wrapped by another one, as httpapi's is, still learns the state of its connections.
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

package lazyconn

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// LookAfter is how long a request takes at least before anybody looks whether its caller has hung up. It is found out within
// twice that time.
const LookAfter = 100 * time.Millisecond

// Listen returns a listener over inner for the server, which is to serve it and nothing else may lie between them.
func Listen(inner net.Listener, s *http.Server) net.Listener {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if lazy, is := c.(*conn); is {
			ctx, lazy.hungUp = context.WithCancel(ctx)
		}
		return ctx
	}
	return listener{inner}
}

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, hungUp: func() {}}
	c.reads.apply, c.writes.apply = inner.SetReadDeadline, inner.SetWriteDeadline
	c.looked.L = &c.mu
	return c, nil
}

// conn is a connection of the server's.
type conn struct {
	net.Conn
	hungUp        context.CancelFunc // ends the context of all its requests
	reads, writes direction

	mu      sync.Mutex
	spared  bool        // the latest read was one of one byte, and was not made
	request int         // counts them
	timer   *time.Timer // calls look; nil before the first
	armed   bool        // the timer runs, or look does
	due     int         // the request that it was started in
	looking bool        // look reads
	looked  sync.Cond   // it no longer does
	found   []byte      // what it read: a byte or none
	failure error       // or why the caller is gone
	one     [1]byte
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	if len(p) == 1 && !c.spared {
		c.spare()
		c.mu.Unlock()
		return 0, nil
	}
	c.spared = false
	for c.looking {
		c.looked.Wait()
	}
	n, err := copy(p, c.found), c.failure
	c.found, c.failure = nil, nil
	c.mu.Unlock()
	if n > 0 || err != nil {
		return n, err
	}
	return c.reads.do(c.Conn.Read, p)
}

// spare has the caller looked for later. The caller has locked.
func (c *conn) spare() {
	c.spared = true
	c.request++
	switch {
	case c.armed: // it will find that this is another request, and begin again
	case c.timer == nil:
		c.armed, c.due = true, c.request
		c.timer = time.AfterFunc(LookAfter, c.look)
	default:
		c.armed, c.due = true, c.request
		c.timer.Reset(LookAfter)
	}
}

// look reads until the caller sends something or hangs up, if the request is still the one that the timer was started in.
func (c *conn) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.spared {
		c.armed = false
		return
	}
	if c.request != c.due {
		c.due = c.request
		c.timer.Reset(LookAfter)
		return
	}
	c.armed, c.looking = false, true
	c.mu.Unlock()
	n, err := c.reads.do(c.Conn.Read, c.one[:])
	c.mu.Lock()
	c.looking, c.found = false, c.one[:n]
	// A deadline is not the caller's doing: net/http ends its own reads by one. Who reads next meets it, if it still stands.
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.failure = err
		c.hungUp()
	}
	c.looked.Broadcast()
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) { return c.writes.do(c.Conn.Write, p) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.reads.setDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.writes.setDeadline(t) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.reads.setDeadline(t); err != nil {
		return err
	}
	return c.writes.setDeadline(t)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.hungUp()
	return c.Conn.Close()
}

// CloseWrite ends what is sent; net/http does so before it closes a connection with unread bytes.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

package httpload

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ErrNotSent means that there was no connection, so the request certainly had no effect.
var ErrNotSent = errors.New("not sent")

// stale is how long an idle connection is reused. The server may just be closing an older one, and then the outcome of
// a request would be unknown.
const stale = 2 * time.Second

// Conn is a connection to one server. It connects on demand, and again after a failure. Use it from one goroutine at a
// time.
type Conn struct {
	host    string // for the Host header
	addr    string // host:port
	prefix  string // prepended to every request's path
	secure  bool
	timeout time.Duration

	conn    net.Conn // nil: none
	answers *bufio.Reader
	used    time.Time // when the last answer was complete, or the connection was made
	out     []byte
	body    []byte
}

// New returns a connection to an http or https server. The URL's path is prepended to every request's path. The timeout
// limits each request, connecting included.
func New(server *url.URL, timeout time.Duration) (*Conn, error) {
	c := &Conn{host: server.Host, addr: server.Host, prefix: server.EscapedPath(), timeout: timeout}
	port := "80"
	switch server.Scheme {
	case "http":
	case "https":
		c.secure, port = true, "443"
	default:
		return nil, fmt.Errorf("httpload: %q is neither an http nor an https address", server)
	}
	if server.Hostname() == "" {
		return nil, fmt.Errorf("httpload: %q names no server", server)
	}
	if server.Port() == "" {
		c.addr = net.JoinHostPort(server.Hostname(), port)
	}
	if c.prefix == "/" {
		c.prefix = ""
	}
	return c, nil
}

// Request is one request. An empty Token sends no Authorization header; an empty Body has the length 0.
type Request struct {
	Method, Path string
	Token        string
	Header       string // further header lines, each ending with CRLF
	Body         []byte // JSON
}

// Answer is a complete answer.
type Answer struct {
	Status     int
	RetryAfter time.Duration // 0: not given
	Body       []byte        // valid until the next request
}

// Do sends a request and reads the whole answer. On an error the connection is closed; ErrNotSent means that the
// request was not sent. If ctx ends, only connecting is interrupted.
func (c *Conn) Do(ctx context.Context, r Request) (Answer, error) {
	now := time.Now()
	if c.conn != nil && now.Sub(c.used) > stale {
		c.Close()
	}
	deadline := now.Add(c.timeout)
	if c.conn == nil {
		if err := c.Connect(ctx, &net.Dialer{Deadline: deadline}); err != nil {
			return Answer{}, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
	}
	a, keep, err := c.exchange(r, deadline)
	if err != nil || !keep {
		c.Close()
	}
	if err != nil {
		return Answer{}, fmt.Errorf("httpload: %w", err)
	}
	c.used = time.Now()
	return a, nil
}

// Close closes the connection. The next request opens another one.
func (c *Conn) Close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is unread
		c.conn = nil
	}
}

// Connect connects now, with the dialer, instead of at the next request.
func (c *Conn) Connect(ctx context.Context, dialer *net.Dialer) (err error) {
	c.Close()
	if c.secure {
		c.conn, err = (&tls.Dialer{NetDialer: dialer}).DialContext(ctx, "tcp", c.addr)
	} else {
		c.conn, err = dialer.DialContext(ctx, "tcp", c.addr)
	}
	if err != nil {
		c.conn = nil // a nil *tls.Conn in the interface would not be nil
		return err
	}
	if c.answers == nil {
		c.answers = bufio.NewReaderSize(c.conn, 4096)
	} else {
		c.answers.Reset(c.conn)
	}
	c.used = time.Now()
	return nil
}

// exchange sends a request on the open connection and reads the answer; keep reports whether the connection can be
// reused.
func (c *Conn) exchange(r Request, deadline time.Time) (a Answer, keep bool, err error) {
	if err = c.conn.SetDeadline(deadline); err != nil {
		return a, false, err
	}
	if _, err = c.conn.Write(c.request(r)); err != nil {
		return a, false, err
	}
	return c.read()
}

// request writes a request into the buffer, which all requests share.
func (c *Conn) request(r Request) []byte {
	b := c.out[:0]
	b = append(append(b, r.Method...), ' ')
	b = append(append(b, c.prefix...), r.Path...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), c.host...)
	if r.Token != "" {
		b = append(append(b, "\r\nAuthorization: Bearer "...), r.Token...)
	}
	if r.Body != nil {
		b = append(b, "\r\nContent-Type: application/json"...)
	}
	if r.Body != nil || r.Method != http.MethodGet {
		b = strconv.AppendInt(append(b, "\r\nContent-Length: "...), int64(len(r.Body)), 10)
	}
	b = append(append(b, "\r\n"...), r.Header...)
	b = append(append(b, "\r\n"...), r.Body...)
	c.out = b
	return b
}

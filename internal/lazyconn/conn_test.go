package lazyconn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// idleTimeout is for how long the server of a test keeps an idle connection.
const idleTimeout = time.Minute

// pipes is a listener whose callers are in this process and know the bubble's clock.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// counted counts what reaches the socket.
type counted struct {
	net.Conn
	deadlines, reads atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) { c.reads.Add(1); return c.Conn.Read(p) }

func (c *counted) SetReadDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func (c *counted) SetWriteDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.Conn.SetWriteDeadline(t)
}

// caller is one end of a connection to a server.
type caller struct {
	net.Conn
	answers *bufio.Reader
	socket  *counted // the server's end
}

// connect serves a handler with the timeouts of a public server, and connects to it.
func connect(t *testing.T, h http.HandlerFunc) caller {
	t.Helper()
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 40 * time.Second, IdleTimeout: idleTimeout}
	l := &pipes{calls: make(chan net.Conn), closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- s.Serve(Listen(l, s)) }()
	ours, theirs := net.Pipe()
	c := caller{Conn: ours, answers: bufio.NewReader(ours), socket: &counted{Conn: theirs}}
	l.calls <- c.socket
	t.Cleanup(func() {
		_ = ours.Close()
		_ = s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return c
}

// send sends requests without waiting for answers.
func (c caller) send(t *testing.T, requests ...string) {
	t.Helper()
	var all strings.Builder
	for _, path := range requests {
		fmt.Fprintf(&all, "GET %s HTTP/1.1\r\nHost: shop\r\n\r\n", path)
	}
	if _, err := io.WriteString(c, all.String()); err != nil {
		t.Fatalf("sending: %v", err)
	}
}

// hear reads an answer's body.
func (c caller) hear(t *testing.T) string {
	t.Helper()
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer func() { _ = answer.Body.Close() }() // read to its end
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("half an answer: %v", err)
	}
	return string(body)
}

// echo answers with the path, after the time that the path names.
func echo(w http.ResponseWriter, r *http.Request) {
	if wait, err := time.ParseDuration(strings.TrimPrefix(r.URL.Path, "/")); err == nil {
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
	}
	if err := r.Context().Err(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if r.Method != http.MethodGet { // its beginning is lost
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	_, _ = io.WriteString(w, r.URL.Path)
}

// Answers are the same however long they take, and whatever came before on the connection.
func TestRequestsFollowEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, echo)
		for _, path := range []string{"/0s", "/0s", "/50ms", "/100ms", "/101ms", "/5s", "/0s", "/199ms", "/30s", "/0s"} {
			c.send(t, path)
			if got := c.hear(t); got != path {
				t.Errorf("%s is answered %s", path, got)
			}
		}
	})
}

// A caller may send the next request before they have the answer, also while somebody looks whether they are there.
func TestRequestsInOneGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, echo)
		for _, paths := range [][]string{{"/a", "/b", "/c", "/d"}, {"/1s", "/2s", "/a", "/3s"}, {"/a", "/1s"}} {
			sent := make(chan struct{})
			go func() { defer close(sent); c.send(t, paths...) }()
			for _, path := range paths {
				if got := c.hear(t); got != path {
					t.Errorf("%v: %s is answered %s", paths, path, got)
				}
			}
			<-sent
		}
		c.send(t, "/2s")
		time.Sleep(time.Second) // it is looked for by now
		sent := make(chan struct{})
		go func() { defer close(sent); c.send(t, "/next") }()
		if first, next := c.hear(t), c.hear(t); first != "/2s" || next != "/next" {
			t.Errorf("answered %s and %s", first, next)
		}
		<-sent
	})
}

// Who hangs up is noticed within twice LookAfter, or as soon as they do later, in a first and in a later request.
func TestHangUpEndsTheContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before []string
		after  time.Duration // from the request on
		within time.Duration // from then on
	}{
		"at once":                      {nil, 0, 2 * LookAfter},
		"after a while":                {nil, time.Minute, 0},
		"at once, in a later request":  {[]string{"/0s", "/0s"}, 0, 2 * LookAfter},
		"right behind a short request": {[]string{"/90ms"}, 0, 2 * LookAfter},
		"after one that was looked at": {[]string{"/1s"}, 0, 2 * LookAfter},
		"later, after one of those":    {[]string{"/1s"}, time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan time.Time, 1)
				began := make(chan struct{})
				caller := connect(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/held" {
						echo(w, r)
						return
					}
					close(began)
					<-r.Context().Done()
					ended <- time.Now()
				})
				for _, path := range c.before {
					caller.send(t, path)
					caller.hear(t)
				}
				caller.send(t, "/held")
				<-began
				time.Sleep(c.after)
				hungUp := time.Now()
				_ = caller.Close()
				if took := (<-ended).Sub(hungUp); took > c.within {
					t.Errorf("noticed after %s", took)
				}
			})
		})
	}
}

// A caller who stays is not taken for one who hung up, however long it takes.
func TestStayingIsNoHangUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(35 * time.Second) // longer than the time for reading a request
			_, _ = fmt.Fprint(w, r.Context().Err())
		})
		for range 3 {
			c.send(t, "/")
			if got := c.hear(t); got != "<nil>" {
				t.Errorf("the context has ended: %s", got)
			}
		}
	})
}

// An idle connection is closed after its time, at most a second sooner.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	for _, paths := range [][]string{{"/0s"}, {"/0s", "/0s"}, {"/400ms", "/400ms", "/0s"}, {"/2s"}} {
		t.Run(fmt.Sprint(paths), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, echo)
				for _, path := range paths {
					c.send(t, path)
					c.hear(t)
				}
				idle := time.Now()
				if _, err := c.answers.ReadByte(); !errors.Is(err, io.EOF) {
					t.Errorf("read %v", err)
				}
				if took := time.Since(idle); took > idleTimeout || took <= idleTimeout-sooner {
					t.Errorf("closed after %s", took)
				}
			})
		})
	}
}

// Half a header has no longer than a whole one.
func TestHeaderTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, echo)
		c.send(t, "/0s")
		c.hear(t)
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n")
		began := time.Now()
		_, _ = io.Copy(io.Discard, c.answers)
		if took := time.Since(began); took > 5*time.Second || took <= 5*time.Second-sooner {
			t.Errorf("closed after %s", took)
		}
	})
}

// A request of a busy connection costs one read that waits and one that reads, here one as a pipe is asked once, and no deadline but
// when the second has changed. This is what the package is for.
func TestABusyConnectionAsksTheSocketLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, echo)
		ask := func() {
			c.send(t, "/0s")
			c.hear(t)
			synctest.Wait() // the server waits for the next one
		}
		ask()
		reads, deadlines := c.socket.reads.Load(), c.socket.deadlines.Load()
		const requests = 100
		for range requests {
			ask()
		}
		if n := c.socket.reads.Load() - reads; n != requests {
			t.Errorf("%d reads for %d requests", n, requests)
		}
		if n := c.socket.deadlines.Load() - deadlines; n > 2 {
			t.Errorf("%d deadlines for %d requests at one time", n, requests)
		}
	})
}

// Short requests are not looked at, however long the connection lasts.
func TestShortRequestsAreNotLookedAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, echo)
		const requests = 50
		for range requests {
			c.send(t, "/70ms")
			c.hear(t)
			synctest.Wait() // the server waits for the next one
		}
		if n := c.socket.reads.Load(); n != requests+1 {
			t.Errorf("%d reads for %d requests and the one that waits", n, requests)
		}
	})
}

// A deadline that is set during a call ends it.
func TestDeadlineOfACallUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		l := &pipes{calls: make(chan net.Conn, 1)}
		l.calls <- theirs
		c, err := Listen(l, &http.Server{ReadHeaderTimeout: time.Second}).Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = ours.Close(), c.Close() }()
		for name, call := range map[string]func() error{
			"read":  func() error { _, err := c.Read(make([]byte, 2)); return err },
			"write": func() error { _, err := c.Write([]byte("x")); return err },
		} {
			if err := c.SetDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- call() }()
			synctest.Wait()
			if err := c.SetDeadline(time.Now().Add(3 * time.Second)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 3*time.Second {
				t.Errorf("%s: %v after %s", name, err, time.Since(began))
			}
		}
	})
}

// Closing ends the contexts of requests that nobody looks at yet.
func TestCloseEndsTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer func() { _ = ours.Close() }()
		l := &pipes{calls: make(chan net.Conn, 1)}
		l.calls <- theirs
		s := &http.Server{ReadHeaderTimeout: time.Second}
		c, err := Listen(l, s).Accept()
		if err != nil {
			t.Fatal(err)
		}
		ctx := s.ConnContext(t.Context(), c)
		if err := c.Close(); err != nil || !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("closed: %v, context: %v", err, ctx.Err())
		}
	})
}

package httpload_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"seckill/internal/httpload"
	"seckill/internal/testkit"
	"seckill/internal/testkit/freeport"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// dial returns a connection to a URL.
func dial(t *testing.T, address string, timeout time.Duration) *httpload.Conn {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := httpload.New(u, timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestConn talks to net/http's server: requests arrive and answers are read, all over one connection.
func TestConn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from[r.RemoteAddr] = true
		mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/base/later" {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/base/chunked" {
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, strings.Join([]string{
			r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body),
		}, "|"))
	}))
	defer server.Close()
	c := dial(t, server.URL+"/base", time.Minute)
	tests := []struct {
		request httpload.Request
		want    httpload.Answer
		body    string
	}{
		{httpload.Request{Method: "GET", Path: "/a"}, httpload.Answer{Status: 200}, "GET|/base/a|||"},
		{
			httpload.Request{Method: "POST", Path: "/b", Token: "t"}, httpload.Answer{
				Status: 200,
			}, "POST|/base/b|Bearer t||",
		},
		{
			httpload.Request{Method: "POST", Path: "/c", Body: []byte("{}")}, httpload.Answer{
				Status: 200,
			}, "POST|/base/c||application/json|{}",
		},
		{
			httpload.Request{Method: "POST", Path: "/d", Header: "authorization: raw\r\nContent-Type: text/x\r\n"},
			httpload.Answer{Status: 200},
			"POST|/base/d|raw|text/x|",
		},
		{httpload.Request{Method: "GET", Path: "/chunked"}, httpload.Answer{Status: 200}, "GET|/base/chunked|||"},
		{
			httpload.Request{
				Method: "POST", Path: "/later",
			}, httpload.Answer{Status: 503, RetryAfter: 3 * time.Second}, "",
		},
	}
	for _, tt := range tests {
		got, err := c.Do(t.Context(), tt.request)
		if err != nil || got.Status != tt.want.Status || got.RetryAfter != tt.want.RetryAfter ||
			string(got.Body) != tt.body {
			t.Errorf("%s: %d, retry after %v, %q, %v; want %d, %v, %q", tt.request.Path,
				got.Status, got.RetryAfter, got.Body, err, tt.want.Status, tt.want.RetryAfter, tt.body)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(from) != 1 {
		t.Errorf("%d connections were used, want 1", len(from))
	}
}

// TestAnswers reads answers that other servers may send. An incomplete answer is an error, but never ErrNotSent.
func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, sent string
		status     int // 0: an error
		body       string
		again      bool // the connection is reused
	}{
		{"length", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", 200, "hi", true},
		{"closes", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", 200, "hi", false},
		{"old", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", false},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nhi", 200, "hi", false},
		{"chunks with trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\nh\r\n1\r\ni\r\n0\r\n" +
			"T: 1\r\n\r\n", 200, "hi", true},
		{"continue first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 204, "", true},
		{"no reason", "HTTP/1.1 409\r\nContent-Length: 0\r\n\r\n", 409, "", true},
		{"nothing", "", 0, "", false},
		{"half a head", "HTTP/1.1 200 OK\r\nContent-Le", 0, "", false},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", 0, "", false},
		{"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi", 0, "", false},
		{"a chunk with an odd length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nhi", 0, "", false},
		{"another protocol", "SSH-2.0-x\r\n\r\n", 0, "", false},
		{"no field", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", 0, "", false},
		{"a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 0, "", false},
		{"a huge length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", 0, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			conns := make(chan int, 1)
			go func() { conns <- serve(l, tt.sent, tt.again) }()
			c := dial(t, "http://"+l.Addr().String(), time.Minute)
			for range 2 {
				a, err := c.Do(t.Context(), httpload.Request{Method: "GET", Path: "/"})
				if (err != nil) != (tt.status == 0) || a.Status != tt.status || string(a.Body) != tt.body ||
					errors.Is(err, httpload.ErrNotSent) {
					t.Errorf("answer %d %q, %v; want %d %q", a.Status, a.Body, err, tt.status, tt.body)
				}
			}
			c.Close()
			_ = l.Close() // makes the last Accept return
			want := 2
			if tt.again {
				want = 1
			}
			if n := <-conns; n != want {
				t.Errorf("%d connections, want %d", n, want)
			}
		})
	}
}

// serve answers every request on a listener with the same bytes. Unless again is set, it closes each connection after
// its first answer. It returns the number of connections.
func serve(l net.Listener, sent string, again bool) (n int) {
	for ; ; n++ {
		conn, err := l.Accept()
		if err != nil {
			return n
		}
		requests := bufio.NewReader(conn)
		for {
			if _, err := http.ReadRequest(requests); err != nil {
				break
			}
			_, _ = io.WriteString(conn, sent)
			if !again {
				break
			}
		}
		_ = conn.Close()
	}
}

// TestNotSent checks that a request to a closed port fails with ErrNotSent.
func TestNotSent(t *testing.T) {
	t.Parallel()
	addr, err := freeport.TakeAddr(t.Context()) // reserved, so nobody listens there
	if err != nil {
		t.Fatal(err)
	}
	_, err = dial(t, "http://"+addr, time.Minute).Do(t.Context(), httpload.Request{Method: "GET", Path: "/"})
	if !errors.Is(err, httpload.ErrNotSent) {
		t.Errorf("error %v, want ErrNotSent", err)
	}
}

// TestTimeout checks that a request to a silent server times out.
func TestTimeout(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = dial(t, "http://"+l.Addr().String(), time.Second).Do(t.Context(),
		httpload.Request{Method: "GET", Path: "/"})
	if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() ||
		errors.Is(err, httpload.ErrNotSent) {
		t.Errorf("error %v, want a timeout", err)
	}
}

// TestConnect checks that the next request uses the connection made by Connect, with its dialer.
func TestConnect(t *testing.T) {
	t.Parallel()
	var connected atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connected.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c, dialed := dial(t, server.URL, time.Minute), 0
	control := func(string, string, syscall.RawConn) error { dialed++; return nil }
	if err := c.Connect(t.Context(), &net.Dialer{Control: control}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), httpload.Request{Method: http.MethodGet, Path: "/"}); err != nil {
		t.Fatal(err)
	}
	if connected.Load() != 1 || dialed != 1 {
		t.Errorf("%d connections, %d of them by the dialer", connected.Load(), dialed)
	}
}

// TestNew checks that New refuses invalid server addresses.
func TestNew(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost:8080", "ftp://x", "http://", "http://:80"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = httpload.New(u, time.Second); err == nil {
			t.Errorf("%q was accepted as an address", address)
		}
	}
}

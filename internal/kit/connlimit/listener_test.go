package connlimit

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

const refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nRetry-After: 2\r\n" +
	"Connection: close\r\n\r\nfull"

// start listens on a free port with a limit, and with generous times for refused callers, so that the result does not
// depend on how busy the machine is.
func start(t *testing.T, limit int) *Listener {
	t.Helper()
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(inner, limit, []byte(refusal), func(netip.Addr) bool { return false })
	l.requestTime, l.lingerTime = time.Minute, time.Minute
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// serve answers every request with "served"; requests for /held wait until hold is closed. idle receives a value for
// each connection once the listener knows that it is idle.
func serve(t *testing.T, l *Listener, hold <-chan struct{}) (idle <-chan struct{}) {
	t.Helper()
	server := &http.Server{
		ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/held" {
				<-hold
			}
			_, _ = io.WriteString(w, "served")
		}),
	}
	idled := make(chan struct{}, 1000)
	l.Watch(server)
	watch := server.ConnState
	server.ConnState = func(c net.Conn, s http.ConnState) {
		watch(c, s)
		if s == http.StateIdle {
			idled <- struct{}{}
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return idled
}

// dial connects, with a deadline of a minute.
func dial(t *testing.T, l *Listener) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// await polls until the numbers of open and refused connections are as given.
func await(t *testing.T, l *Listener, open, refused int64) {
	t.Helper()
	deadline, poll := time.After(time.Minute), time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		o, r := l.Load()
		if o == open && r == refused {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d open, %d refused, want %d and %d", o, r, open, refused)
		case <-poll.C:
		}
	}
}

// get sends a request over its own connection and returns the complete answer.
func get(t *testing.T, l *Listener, path string) (int, string) {
	t.Helper()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+path,
		strings.NewReader(strings.Repeat("x", 10_000)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Errorf("no answer: %v", err)
		return 0, ""
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("half an answer: %v", err)
	}
	return res.StatusCode, string(body)
}

func TestThoseBeyondTheLimitAreAnswered(t *testing.T) {
	t.Parallel()
	l := start(t, 2)
	serve(t, l, nil)
	first := dial(t, l)
	dial(t, l)
	await(t, l, 2, 0)
	for range 3 {
		if status, body := get(t, l, "/"); status != http.StatusServiceUnavailable || body != "full" {
			t.Errorf("beyond the limit: %d %q", status, body)
		}
	}
	await(t, l, 2, 3)
	_ = first.Close()
	await(t, l, 1, 3)
	if status, body := get(t, l, "/"); status != http.StatusOK || body != "served" {
		t.Errorf("after one was closed: %d %q", status, body)
	}
}

// A caller that is still sending when the answer comes must be able to read it: no reset may discard it.
func TestRefusedCallersMayFinishSending(t *testing.T) {
	t.Parallel()
	l := start(t, 0)
	serve(t, l, nil)
	c := dial(t, l)
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != refusal {
		t.Fatalf("%q, %v", got, err)
	}
	for range 3 {
		if _, err := io.WriteString(c, "Host: x\r\n"); err != nil {
			t.Error(err)
		}
	}
}

// In a stampede each caller gets one of the two answers: none is cut off, and none waits for those inside.
func TestStampede(t *testing.T) {
	t.Parallel()
	const limit, callers = 20, 20 + MaxGoodbyes // no more than can wait for their request
	l := start(t, limit)
	hold := make(chan struct{})
	serve(t, l, hold)
	var (
		mu     sync.Mutex
		counts = map[int]int{}
		all    sync.WaitGroup
	)
	for range callers {
		all.Go(func() {
			status, _ := get(t, l, "/held")
			mu.Lock()
			defer mu.Unlock()
			counts[status]++
			if status == http.StatusServiceUnavailable && counts[status] == callers-limit {
				close(hold) // only now are those inside answered
			}
		})
	}
	all.Wait()
	if counts[http.StatusOK] != limit || counts[http.StatusServiceUnavailable] != callers-limit {
		t.Errorf("answers %v, want %d of 200 and %d of 503", counts, limit, callers-limit)
	}
	await(t, l, 0, callers-limit)
}

// Connections without a request take up all goodbyes. Nobody waits for them: the next one is answered at once.
func TestSilentConnectionsStopNobody(t *testing.T) {
	t.Parallel()
	l := start(t, 0)
	serve(t, l, nil)
	for range MaxGoodbyes {
		dial(t, l)
	}
	if got, err := io.ReadAll(dial(t, l)); err != nil || string(got) != refusal {
		t.Errorf("with every goodbye taken: %q, %v", got, err)
	}
}

// A connection without a request is closed in time.
func TestSilentConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	l := start(t, 0)
	l.requestTime = 10 * time.Millisecond
	serve(t, l, nil)
	if got, err := io.ReadAll(dial(t, l)); err != nil || len(got) != 0 {
		t.Errorf("a connection that asked nothing: %q, %v", got, err)
	}
}

func TestCloseEndsGoodbyes(t *testing.T) {
	t.Parallel()
	l := start(t, 0)
	serve(t, l, nil)
	c := dial(t, l)
	await(t, l, 0, 1)
	begin := time.Now()
	_ = l.Close()
	if took := time.Since(begin); took > l.requestTime/2 {
		t.Errorf("Close took %s", took)
	}
	if got, err := io.ReadAll(c); len(got) != 0 { // closed, with or without a reset
		t.Errorf("read %q, %v", got, err)
	}
}

// The listener's connections must pass CloseWrite on to net/http: without it, the answer to a partly read request is
// lost.
func TestConnectionsCanBeHalfClosed(t *testing.T) {
	t.Parallel()
	l := start(t, 1)
	caller := dial(t, l)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		t.Fatal("no CloseWrite")
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(caller); err != nil || len(got) != 0 {
		t.Fatalf("the caller reads %q, %v; want the end", got, err)
	}
	if _, err := caller.Write([]byte("still here")); err != nil {
		t.Error(err)
	}
	got := make([]byte, 10)
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, []byte("still here")) {
		t.Errorf("after it: %q, %v", got, err)
	}
	for range 2 {
		_ = c.Close()
	}
	if open, _ := l.Load(); open != 0 {
		t.Errorf("%d open after closing one twice", open)
	}
}

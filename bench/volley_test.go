package main

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shopFront is a server that notes who asked for what, and refuses those whom it is told to.
type shopFront struct {
	mu     sync.Mutex
	asked  map[string]int // by token
	paths  map[string]int
	refuse func(token string) bool
	delay  time.Duration
}

func (s *shopFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	s.asked[token]++
	s.paths[r.URL.String()]++
	s.mu.Unlock()
	time.Sleep(s.delay)
	status := http.StatusAccepted
	if s.refuse != nil && s.refuse(token) {
		status = http.StatusConflict
	}
	w.Header().Set("Content-Length", "2")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("{}"))
}

// serve starts it and returns a volley of twenty users before its door.
func (s *shopFront) serve(t *testing.T) volley {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.asked, s.paths = map[string]int{}, map[string]int{}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { _ = srv.Serve(l); close(done) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	c := make(crowd, 20)
	for i := range c {
		c[i] = []byte{byte('a' + i)}
	}
	return volley{
		crowd: c, doors: []door{{l.Addr().String(), []int64{7, 8}}}, connections: 4, wanted: http.StatusAccepted,
		other: http.StatusConflict, duration: time.Minute, most: 20, remembers: true,
	}
}

// TestVolley: everybody asks once, for the sale whose turn it is, and is counted by his answer.
func TestVolley(t *testing.T) {
	t.Parallel()
	s := &shopFront{refuse: func(token string) bool { return token == "c" || token == "d" }}
	b, err := s.serve(t).fire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(b.users)
	if want := []int64{1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}; !slices.Equal(b.users, want) {
		t.Errorf("accepted are %v, want %v", b.users, want)
	}
	if b.answered != 18 || b.refused != 2 || b.next < 20 || b.rate <= 0 {
		t.Errorf("answered %d, refused %d, next %d, rate %v", b.answered, b.refused, b.next, b.rate)
	}
	if len(s.asked) != 20 || s.paths["/voucher/seckill/7"] != 10 || s.paths["/voucher/seckill/8"] != 10 {
		t.Errorf("%d users asked: %v", len(s.asked), s.paths)
	}
}

// TestPresses: each user presses as often as told; those before the first stay at home.
func TestPresses(t *testing.T) {
	t.Parallel()
	s := &shopFront{}
	v := s.serve(t)
	v.first, v.presses, v.most, v.query = 10, 3, 15, "?wait=1s"
	if _, err := v.fire(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if n := s.asked[string(rune('k'+i))]; n != 3 {
			t.Errorf("user %d pressed %d times", 11+i, n)
		}
	}
	if len(s.asked) != 5 || s.paths["/voucher/seckill/7?wait=1s"] == 0 {
		t.Errorf("asked: %v, %v", s.asked, s.paths)
	}
}

// TestPace: requests come when they are due, and a slow answer is charged to those that it held up.
func TestPace(t *testing.T) {
	t.Parallel()
	s := &shopFront{delay: 10 * time.Millisecond}
	v := s.serve(t)
	v.connections, v.pace, v.most = 1, 1000, 10 // due every millisecond
	b, err := v.fire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The tenth was due after 9 ms and answered after 100 or more.
	if b.p99 < 90*time.Millisecond {
		t.Errorf("p99 %s: latency counts from when the request was sent, not from when it was due", b.p99)
	}
}

// TestVolleyFails: an answer that nobody expected ends the volley with what it says, unless the end was foreseen.
func TestVolleyFails(t *testing.T) {
	t.Parallel()
	s := &shopFront{refuse: func(token string) bool { return token == "c" }}
	v := s.serve(t)
	v.other = 0
	if _, err := v.fire(t.Context()); err == nil || !strings.Contains(err.Error(), "answered 409") {
		t.Errorf("error %v", err)
	}
	v.dies, v.meter = true, &meter{}
	if _, err := v.fire(t.Context()); err != nil || v.meter.broken.Load() != 1 {
		t.Errorf("error %v, %d broken connections", err, v.meter.broken.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.fire(ctx); err == nil {
		t.Error("a volley that was called off ends without an error")
	}
}

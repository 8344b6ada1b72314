package load

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

// fakeServer counts requests by token and path, and refuses chosen tokens.
type fakeServer struct {
	mu     sync.Mutex
	asked  map[string]int // by token
	paths  map[string]int
	refuse func(token string) bool
	delay  time.Duration
	from   string // address of the last request
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	s.asked[token]++
	s.paths[r.URL.String()]++
	s.from = r.RemoteAddr
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

// serve starts the server and returns a burst of twenty users.
func (s *fakeServer) serve(t *testing.T) Burst {
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
	users := make(Users, 20)
	for i := range users {
		users[i] = string(rune('a' + i))
	}
	return Burst{
		Users: users, Endpoints: []Endpoint{{Addr: l.Addr().String(), Vouchers: []int64{7, 8}}}, Connections: 4,
		Want: http.StatusAccepted, Other: http.StatusConflict, Duration: time.Minute, Limit: 20, ListUsers: true,
	}
}

// TestBurst: every user asks once, for the sales in turn, and is counted by their answer.
func TestBurst(t *testing.T) {
	t.Parallel()
	s := &fakeServer{refuse: func(token string) bool { return token == "c" || token == "d" }}
	a, err := s.serve(t).Send(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(a.Users)
	if want := []int64{1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}; !slices.Equal(a.Users, want) {
		t.Errorf("accepted are %v, want %v", a.Users, want)
	}
	if a.Want != 18 || a.Other != 2 || a.Next < 20 || a.Rate <= 0 {
		t.Errorf("answered %d, refused %d, next %d, rate %v", a.Want, a.Other, a.Next, a.Rate)
	}
	if len(s.asked) != 20 || s.paths["/voucher/seckill/7"] != 10 || s.paths["/voucher/seckill/8"] != 10 {
		t.Errorf("%d users asked: %v", len(s.asked), s.paths)
	}
}

// TestRepeats: each user asks as often as configured; users before the first send nothing.
func TestRepeats(t *testing.T) {
	t.Parallel()
	s := &fakeServer{}
	b := s.serve(t)
	b.First, b.Repeats, b.Limit, b.Query = 10, 3, 15, "?wait=1s"
	if _, err := b.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if n := s.asked[string(rune('k'+i))]; n != 3 {
			t.Errorf("user %d asked %d times", 11+i, n)
		}
	}
	if len(s.asked) != 5 || s.paths["/voucher/seckill/7?wait=1s"] == 0 {
		t.Errorf("asked: %v, %v", s.asked, s.paths)
	}
}

// TestGet: readers ask for one page, without a token, and need no users.
func TestGet(t *testing.T) {
	t.Parallel()
	s := &fakeServer{}
	b := s.serve(t)
	b.Users, b.Get = nil, "/voucher/list/1"
	a, err := b.Send(t.Context())
	if err != nil || a.Want != 20 {
		t.Fatal(a.Want, err)
	}
	if s.asked[""] != 20 || s.paths["/voucher/list/1"] != 20 {
		t.Errorf("asked: %v, %v", s.asked, s.paths)
	}
}

// TestRate: requests are sent when they are due, and a slow answer counts as delay of the requests that waited for it.
func TestRate(t *testing.T) {
	t.Parallel()
	s := &fakeServer{delay: 10 * time.Millisecond}
	b := s.serve(t)
	b.Connections, b.Rate, b.Limit = 1, 1000, 10 // due every millisecond
	a, err := b.Send(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The tenth was due after 9 ms and answered after 100 or more.
	if a.P99 < 90*time.Millisecond {
		t.Errorf("p99 %s: latency counts from when the request was sent, not from when it was due", a.P99)
	}
}

// TestWhole: requests under way at the end are measured only if Whole is set.
func TestWhole(t *testing.T) {
	t.Parallel()
	for whole, want := range map[bool]int{true: 4, false: 0} {
		s := &fakeServer{delay: 50 * time.Millisecond}
		b := s.serve(t)
		b.Duration, b.Whole = time.Millisecond, whole
		a, err := b.Send(t.Context())
		if err != nil || a.Want != 4 || len(a.Micros) != want {
			t.Errorf("whole %t: %d answers, %d measured, want %d; %v", whole, a.Want, len(a.Micros), want, err)
		}
		if whole && (a.Rate > 4/0.05 || a.P99 < 50*time.Millisecond) {
			t.Errorf("rate %v, p99 %s", a.Rate, a.P99)
		}
	}
}

// TestDial: a connection among many uses another address, and a wrong answer is quoted in the error.
func TestDial(t *testing.T) {
	t.Parallel()
	s := &fakeServer{refuse: func(token string) bool { return token == "b" }}
	addr := s.serve(t).Endpoints[0].Addr
	conn, err := Dial(t.Context(), addr, portsEach)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if status, err := Ask(t.Context(), conn, Purchase(7, "?wait=1s", "a"), http.StatusAccepted, 0); err != nil ||
		status != http.StatusAccepted {
		t.Error(status, err)
	}
	if _, err := Ask(t.Context(), conn, Purchase(7, "", "b"), http.StatusAccepted, 0); err == nil ||
		!strings.Contains(err.Error(), "answered 409: {}") {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths["/voucher/seckill/7?wait=1s"] != 1 || !strings.HasPrefix(s.from, "127.0.0.2:") {
		t.Errorf("asked: %v from %s", s.paths, s.from)
	}
}

// TestBurstFails: an unexpected answer ends the burst with an error that quotes it, unless the server was to die.
func TestBurstFails(t *testing.T) {
	t.Parallel()
	s := &fakeServer{refuse: func(token string) bool { return token == "c" }}
	b := s.serve(t)
	b.Other = 0
	if _, err := b.Send(t.Context()); err == nil || !strings.Contains(err.Error(), "answered 409") {
		t.Errorf("error %v", err)
	}
	b.ServerDies, b.Counters = true, &Counters{}
	if _, err := b.Send(t.Context()); err != nil || b.Counters.Broken.Load() != 1 {
		t.Errorf("error %v, %d broken connections", err, b.Counters.Broken.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Send(ctx); err == nil {
		t.Error("a cancelled burst ends without an error")
	}
}

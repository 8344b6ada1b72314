// Package receiver receives webhooks as a shop's program would, and notices events that are lost, out of order, or
// wrongly signed.
package receiver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
)

const patience = time.Minute // generous, for a busy machine

// Receiver receives webhooks and remembers them.
type Receiver struct {
	tb   testing.TB
	addr string

	mu       sync.Mutex
	server   *http.Server
	secrets  []dispatch.Secret
	answer   func(id string) int // the status; 0: no answer until the caller gives up
	times    map[string]int      // how often each webhook-id was accepted
	last     map[string]int64    // the highest accepted number of each subject
	first    []string            // webhook-ids in the order of their first acceptance
	asked    int
	repeats  int
	problems []string
	changed  chan struct{}
}

// New starts a receiver that accepts everything.
func New(tb testing.TB) *Receiver {
	tb.Helper()
	r := &Receiver{tb: tb, times: make(map[string]int), last: make(map[string]int64), changed: make(chan struct{}, 1)}
	r.Answers(func(string) int { return http.StatusNoContent })
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r.addr = listener.Addr().String()
	r.serve(listener)
	tb.Cleanup(r.Stop)
	return r
}

// URL returns the address for webhooks.
func (r *Receiver) URL() string { return "http://" + r.addr + "/hook?shop=1" }

func (r *Receiver) serve(listener net.Listener) {
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	r.mu.Lock()
	r.server = server
	r.mu.Unlock()
	go func() { _ = server.Serve(listener) }() // ends with Stop
}

// Stop closes the listener and all connections: callers are refused.
func (r *Receiver) Stop() {
	r.mu.Lock()
	server := r.server
	r.mu.Unlock()
	_ = server.Close() // it may be closed already
}

// Start listens again at the same address.
func (r *Receiver) Start() {
	r.tb.Helper()
	var listener net.Listener
	var err error
	for range 100 {
		listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", r.addr)
		if err == nil {
			r.serve(listener)
			return
		}
		time.Sleep(50 * time.Millisecond) // another program had the port for a moment
	}
	r.tb.Fatal(err)
}

// Answers sets the function that returns the status for a webhook-id; 0 means no answer until the caller gives up.
func (r *Receiver) Answers(f func(id string) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the caller has gone
	}
	id := req.Header.Get("Webhook-Id")
	r.mu.Lock()
	status := r.answer(id)
	r.asked++
	r.mu.Unlock()
	if status == 0 {
		<-req.Context().Done()
		return
	}
	if status/100 == 2 {
		r.take(id, req.Header, body)
	}
	w.WriteHeader(status)
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// take checks an event and remembers it.
func (r *Receiver) take(id string, h http.Header, body []byte) {
	seconds, err := strconv.ParseInt(h.Get("Webhook-Timestamp"), 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	wrong := func(format string, args ...any) { r.problems = append(r.problems, fmt.Sprintf(format, args...)) }
	if err != nil {
		wrong("%s: timestamp: %v", id, err)
	}
	want, err := dispatch.Sign(r.secrets, id, time.Unix(seconds, 0), body)
	if err != nil || h.Get("Webhook-Signature") != want {
		wrong("%s: signature %q, want %q, %v", id, h.Get("Webhook-Signature"), want, err)
	}
	var p struct {
		Version int `json:"version"`
		Subject struct {
			Kind order.SubjectKind `json:"kind"`
			ID   string            `json:"id"`
		} `json:"subject"`
		Number int64 `json:"number"`
	}
	err = json.Unmarshal(body, &p)
	subject := string(p.Subject.Kind) + "-" + p.Subject.ID
	gaps := p.Subject.Kind == order.SubjectSale // its numbers are those of its operations
	if err != nil || p.Version != 1 || id != fmt.Sprintf("%s-%d", subject, p.Number) {
		wrong("%s: body %s, %v", id, body, err)
	}
	if r.times[id]++; r.times[id] > 1 {
		r.repeats++
		return // a repeated event may come after later ones
	}
	r.first = append(r.first, id)
	if last := r.last[subject]; p.Number != last+1 && (!gaps || p.Number <= last) {
		wrong("%s: number %d came first after %d", subject, p.Number, last)
	}
	r.last[subject] = p.Number
}

// Expect sets the secrets that must sign every event, without others.
func (r *Receiver) Expect(secrets ...dispatch.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = secrets
}

// Took returns how often each webhook-id was accepted.
func (r *Receiver) Took() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.times)
}

// Counts returns how many events were accepted, how many were repeats, and how many requests there were.
func (r *Receiver) Counts() (taken, repeats, asked int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.times), r.repeats, r.asked
}

// Await waits until n events were accepted, or fails the test.
func (r *Receiver) Await(n int) {
	r.tb.Helper()
	r.Until(patience, func() bool { taken, _, _ := r.Counts(); return taken >= n })
	if taken, repeats, asked := r.Counts(); taken != n {
		r.tb.Fatalf("%d events were taken, %d of them again, in %d requests; want %d", taken, repeats, asked, n)
	}
}

// Until waits until ok, which requests may change.
func (r *Receiver) Until(within time.Duration, ok func() bool) {
	r.tb.Helper()
	over := time.After(within)
	for !ok() {
		select {
		case <-r.changed:
		case <-time.After(50 * time.Millisecond): // another waiter may have received the signal
		case <-over:
			return
		}
	}
}

// Right fails the test if anything wrong was received.
func (r *Receiver) Right() {
	r.tb.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range r.problems {
		if i == 10 {
			r.tb.Errorf("and %d more", len(r.problems)-i)
			return
		}
		r.tb.Error(p)
	}
}

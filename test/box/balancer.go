package box

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Balancer sends buyers only to servers that report ready, as load balancers do.
type Balancer struct {
	servers []*Server
	ready   []atomic.Bool
	ended   <-chan struct{} // closed when the test ends
}

// balancerPoll is the time between two checks; a drain delay must be several times as long.
const balancerPoll = 20 * time.Millisecond

// NewBalancer polls the servers until the test ends. At first all of them count as ready.
func NewBalancer(tb testing.TB, servers []*Server) *Balancer {
	tb.Helper()
	b := &Balancer{servers: servers, ready: make([]atomic.Bool, len(servers)), ended: tb.Context().Done()}
	for i := range b.ready {
		b.ready[i].Store(true)
	}
	c := NewClientOver(tb, &http.Transport{DisableKeepAlives: true}, time.Second)
	var polling sync.WaitGroup
	for i, s := range servers {
		// Each server has its own goroutine, so that a slow server does not hide that another has stopped.
		polling.Go(func() { poll(tb.Context(), c, s, &b.ready[i]) })
	}
	tb.Cleanup(polling.Wait) // the test's context has ended by then
	return b
}

func poll(ctx context.Context, c *Client, s *Server, ready *atomic.Bool) {
	for ctx.Err() == nil {
		r, err := c.Do(ctx, Request{Method: http.MethodGet, URL: s.URL("/readyz")})
		ready.Store(err == nil && r.StatusCode == http.StatusOK)
		select {
		case <-ctx.Done():
		case <-time.After(balancerPoll):
		}
	}
}

// Pick returns the i-th server, or the next that is ready. While none is, it waits: a busy machine may answer no poll
// in time.
func (b *Balancer) Pick(i int) *Server {
	for patient := time.Now().Add(Patience); ; {
		for n := range b.servers {
			if at := (i + n) % len(b.servers); b.ready[at].Load() {
				return b.servers[at]
			}
		}
		select {
		case <-b.ended:
			return b.servers[i%len(b.servers)]
		case <-time.After(balancerPoll):
		}
		if time.Now().After(patient) {
			return b.servers[i%len(b.servers)]
		}
	}
}

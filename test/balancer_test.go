package test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// balancer sends buyers only to servers that say they are ready, as load balancers do.
type balancer struct {
	servers []*server
	ready   []atomic.Bool
}

// balancerPoll is how often the servers are asked; a drain delay must be several times as long.
const balancerPoll = 20 * time.Millisecond

// newBalancer starts asking the servers until the test ends. At first all of them are taken to be ready.
func newBalancer(tb testing.TB, servers []*server) *balancer {
	tb.Helper()
	b := &balancer{servers: servers, ready: make([]atomic.Bool, len(servers))}
	for i := range b.ready {
		b.ready[i].Store(true)
	}
	c := clientOver(tb, &http.Transport{DisableKeepAlives: true}, time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.poll(tb.Context(), c)
	}()
	tb.Cleanup(func() { <-done }) // the test's context has ended by then
	return b
}

func (b *balancer) poll(ctx context.Context, c *client) {
	for ctx.Err() == nil {
		for i, s := range b.servers {
			r, err := c.do(ctx, request{method: http.MethodGet, url: s.url("/readyz")})
			b.ready[i].Store(err == nil && r.status == http.StatusOK)
		}
		select {
		case <-ctx.Done():
		case <-time.After(balancerPoll):
		}
	}
}

// pick returns the i-th server, or the next that is ready.
func (b *balancer) pick(i int) *server {
	for range b.servers {
		if n := i % len(b.servers); b.ready[n].Load() {
			return b.servers[n]
		}
		i++
	}
	return b.servers[i%len(b.servers)]
}

package lock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A connection is half open when its other end has gone without closing it. A call on it gets no answer and makes the
// client drop it. The next call may hit another one: idle connections mostly die together.

const (
	// mostProbed is how many idle connections one probe checks at most.
	mostProbed = 32
	// probedFor is how long the result of a probe is trusted.
	probedFor = 200 * time.Millisecond
)

// prober is a client whose idle connections can be probed. Other clients keep half-open connections until a call uses
// them.
type prober interface {
	Ping(ctx context.Context) *redis.StatusCmd
	Pipelined(ctx context.Context, f func(redis.Pipeliner) error) ([]redis.Cmder, error)
	PoolStats() *redis.PoolStats
}

// dropHalfOpen makes the client drop its dead idle connections to the server of the keys. It takes about 50 ms if there
// are any.
func (l *Locker) dropHalfOpen(keys []string) {
	s := l.slot(keys)
	s.probing.Lock()
	defer s.probing.Unlock()
	if time.Since(s.probed) < probedFor {
		return
	}
	client, err := serverOf(limit(context.Background(), promptTime), l.client, keys[0])
	if err != nil {
		return // the key's server is unknown
	}
	if p, ok := client.(prober); ok {
		probe(p)
	}
	s.probed = time.Now()
}

// probe sends a PING on every idle connection, all at the same time. A connection that does not answer in time is
// dropped, or at least kept busy until the client's own timeout.
func probe(p prober) {
	ctx := limit(context.Background(), promptTime)
	stats := p.PoolStats()
	single, piped := min(stats.IdleConns, mostProbed), uint32(0)
	if stats.PipelineStats != nil { // pipelines have connections of their own
		piped = min(stats.PipelineStats.IdleConns, mostProbed)
	}
	n := single + piped
	answered := make(chan struct{}, n)
	ask := func(ping func()) {
		ping() // a connection with an error is dropped
		answered <- struct{}{}
	}
	for range single {
		go ask(func() { _ = p.Ping(ctx) })
	}
	for range piped {
		go ask(func() {
			_, _ = p.Pipelined(ctx, func(all redis.Pipeliner) error {
				_ = all.Ping(ctx)
				return nil
			})
		})
	}
	tooLate := time.NewTimer(promptTime + promptTime/5)
	defer tooLate.Stop()
	for range n {
		select {
		case <-answered:
		case <-tooLate.C:
			return
		}
	}
}

package rediskit

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/bulkhead"
)

// permits divides the connections for commands among the classes of callers, separately for each node, like the pools.
// There are as many permits as the node's pool has connections, so that no command waits in the client, which knows no
// classes.
type permits struct {
	size int
	wait time.Duration

	mu    sync.Mutex
	nodes []*bulkhead.Bulkhead // including nodes that have left a cluster: they are few, and their counts stay
}

// bound makes every command of the client wait for a permit.
func (s *permits) bound(client redis.UniversalClient) {
	if cluster, ok := client.(*redis.ClusterClient); ok {
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(s.node()) })
		return
	}
	client.AddHook(s.node())
}

// node returns a hook with its own permits, for a new node.
func (s *permits) node() redis.Hook {
	b := bulkhead.New(s.size, s.wait, bulkhead.Stores()...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes = append(s.nodes, b)
	return permitHook{b}
}

// loads returns how the classes use the connections of all nodes together.
func (s *permits) loads() []bulkhead.Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum []bulkhead.Load
	for _, b := range s.nodes {
		for i, l := range b.Loads() {
			if i == len(sum) {
				sum = append(sum, bulkhead.Load{Class: l.Class})
			}
			sum[i].Add(l)
		}
	}
	return sum
}

// permitHook holds a permit while a command, or a pipeline, is on its way. A command that got no permit was certainly
// not sent.
type permitHook struct{ permits *bulkhead.Bulkhead }

// DialHook implements redis.Hook.
func (h permitHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h permitHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.permits.Held(ctx) { // the client prepares the connection for a command that already has a permit
			return next(ctx, cmd)
		}
		permit, err := h.permits.Acquire(ctx)
		if err != nil {
			cmd.SetErr(err)
			return err
		}
		defer permit.Release()
		return next(h.permits.Holding(ctx), cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h permitHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if h.permits.Held(ctx) {
			return next(ctx, cmds)
		}
		permit, err := h.permits.Acquire(ctx)
		if err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		defer permit.Release()
		return next(h.permits.Holding(ctx), cmds)
	}
}

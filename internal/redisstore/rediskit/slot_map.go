package rediskit

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/bulkhead"
)

// slotMapPause is the least time between two reloads of a cluster's slot map, so that not every caller reloads it while
// the cluster is away. (The client itself pauses only after a reload that succeeded.)
const slotMapPause = 100 * time.Millisecond

// slotMap makes a cluster's client reload its slot map when a node cannot be reached. By itself the client reloads it
// only when a node reports that a slot has moved, and once a minute. A dead master reports nothing: its replica may
// take over within a second, and the client would not notice for up to a minute.
type slotMap struct {
	cluster *redis.ClusterClient
	since   time.Time    // the start of the monotonic times
	last    atomic.Int64 // when the last reload was requested, in nanoseconds after since
}

// watchSlotMap attaches a slotMap to each node that the client will know, if it is a cluster's client.
func watchSlotMap(client redis.UniversalClient) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return
	}
	m := &slotMap{cluster: cluster, since: time.Now()}
	m.last.Store(-int64(slotMapPause))
	cluster.OnNewNode(func(node *redis.Client) { node.AddHook(m) })
}

// DialHook implements redis.Hook. Subscriptions dial too, not only commands.
func (m *slotMap) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		m.reloadAfter(ctx, err)
		return conn, err
	}
}

// ProcessHook implements redis.Hook. A node that hangs still accepts connections, so only a missing answer shows it.
func (m *slotMap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		m.reloadAfter(ctx, err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (m *slotMap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		m.reloadAfter(ctx, err)
		return err
	}
}

// reloadAfter requests a reload, which runs in the background, unless err is nil or a node's answer.
func (m *slotMap) reloadAfter(ctx context.Context, err error) {
	if err == nil || !unreachable(err) {
		return
	}
	now, last := int64(time.Since(m.since)), m.last.Load()
	if now-last >= int64(slotMapPause) && m.last.CompareAndSwap(last, now) {
		m.cluster.ReloadState(context.WithoutCancel(ctx))
	}
}

// unreachable reports whether err says that a node was not reached, closed the connection, or did not answer in time.
// It is false for a caller who got no permit and so sent nothing.
func unreachable(err error) bool {
	if errors.Is(err, bulkhead.ErrFull) {
		return false
	}
	_, network := errors.AsType[net.Error](err) // includes a deadline of the context
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

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

// slotMapPause is the time between two reloads of a cluster's slot map at least: a cluster that is away is not asked by
// every caller. (The client itself waits only after a reload that succeeded.)
const slotMapPause = 100 * time.Millisecond

// slotMap has a cluster's client load its slot map anew when a node cannot be reached. By itself the client does so
// when a node tells it that a slot has moved, and each minute. A master that is dead tells nothing: its replica may
// take over in a second, and the client would not know for that minute.
type slotMap struct {
	cluster *redis.ClusterClient
	since   time.Time    // a monotonic beginning
	last    atomic.Int64 // when the last reload was asked for, nanoseconds after since
}

// watchSlotMap attaches a slotMap to each node that the client will know. Clients of other kinds are left alone.
func watchSlotMap(client redis.UniversalClient) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return
	}
	m := &slotMap{cluster: cluster, since: time.Now()}
	m.last.Store(-int64(slotMapPause))
	cluster.OnNewNode(func(node *redis.Client) { node.AddHook(m) })
}

// DialHook implements redis.Hook. Not only commands dial: subscriptions do too.
func (m *slotMap) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		m.reloadAfter(ctx, err)
		return conn, err
	}
}

// ProcessHook implements redis.Hook. A node that hangs still accepts connections; only its silence tells.
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

// reloadAfter asks for a reload, which runs in the background, unless err is nil or a node's answer.
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
// Who got no permit for a connection has asked none.
func unreachable(err error) bool {
	if errors.Is(err, bulkhead.ErrFull) {
		return false
	}
	_, network := errors.AsType[net.Error](err) // a deadline of the context is one, too
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

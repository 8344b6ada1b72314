//go:build torture

package lock_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/testkit"
)

// pair is a Redis with a replica, and an address that leads to the current master.
type pair struct {
	servers  [2]*testkit.RedisServer
	listener net.Listener

	mu     sync.Mutex
	master int
	conns  []net.Conn
}

// newPair starts the servers. They persist to disk, like the servers of the other faults.
func newPair(t *testing.T) *pair {
	p := &pair{}
	for i := range p.servers {
		p.servers[i] = testkit.StartRedis(t,
			"--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0")
	}
	host, port, err := net.SplitHostPort(p.servers[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.servers[1].Client().Do(t.Context(), "REPLICAOF", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	p.online(t)
	var lc net.ListenConfig
	if p.listener, err = lc.Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.listener.Close() }) // nobody connects any more, so nobody notices
	go p.accept()
	return p
}

// online waits until the replica has caught up.
func (p *pair) online(t *testing.T) {
	eventually(t, "replicated", func() bool {
		info, err := p.servers[p.master].Client().Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "state=online")
	})
}

// failover makes the replica the master without losing an acknowledged write, and redirects all connections to it. The
// old master gives up and stays the master when the replica does not catch up within five seconds, as on a busy
// machine, so it is asked until it has happened. What it answers while a failover is under way, or after one, is no
// failure of the test.
func (p *pair) failover(t *testing.T) {
	p.online(t)
	old, next := p.servers[p.master].Client(), p.servers[1-p.master].Client()
	eventually(t, "the master", func() bool {
		info, err := next.Info(t.Context(), "replication").Result()
		if err == nil && strings.Contains(info, "role:master") {
			return true
		}
		_ = old.Do(t.Context(), "FAILOVER", "TIMEOUT", "5000").Err()
		return false
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.master = 1 - p.master
	for _, c := range p.conns {
		_ = c.Close() // its client connects again
	}
	p.conns = nil
}

func (p *pair) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		addr := p.servers[p.master].Addr
		p.conns = append(p.conns, from)
		p.mu.Unlock()
		go forward(from, addr)
	}
}

// forward copies in both directions until one side closes.
func forward(from net.Conn, addr string) {
	defer func() { _ = from.Close() }() // both ways have ended
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	to, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(to, from) // until either ends
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to) // until either ends
	_ = to.Close()
}

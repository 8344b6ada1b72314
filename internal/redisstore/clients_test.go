package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// TestBlockingReadsApart: as many consumers may wait as there are readers, and commands run on other connections.
func TestBlockingReadsApart(t *testing.T) {
	t.Parallel()
	r := rigOn(t, newClients(t, rediskit.Config{
		Topology: rediskit.Single, Addrs: []string{testkit.RedisAddr(t)}, PoolSize: 6, Readers: 1,
		Timeout: 900 * time.Millisecond,
	}), fmt.Sprintf("apart%d:", time.Now().UnixNano()))
	t.Cleanup(func() { r.must(r.commands.Del(r.ctx(), r.keys.orders(0)).Err()) })
	c := r.Consumer(0, "a")
	r.next(c, 1)
	done := make(chan error, 1)
	start := time.Now()
	go func() {
		_, err := c.Next(r.ctx(), 1, time.Minute)
		done <- err
	}()
	for waiting := true; waiting; {
		r.must(r.Ping(r.ctx()))
		select {
		case err := <-done:
			r.must(err) // in particular no timeout of the connection, which must wait longer than that
			waiting = false
		default:
		}
	}
	if took := time.Since(start); took < rediskit.MaxBlock || took > rediskit.MaxBlock+30*time.Second {
		t.Errorf("a wait of a minute took %v, want about %v", took, rediskit.MaxBlock)
	}
}

// TestNeverSent: within the second that one try of an admission has, it is known that a call was not sent, whether no
// server answers or all connections are in use.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	silent := silentAddr(t)
	for name, open := range map[string]func(*testing.T) *rediskit.Clients{
		"no answer": func(t *testing.T) *rediskit.Clients {
			return newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{silent}})
		},
		"no answer for the cluster": func(t *testing.T) *rediskit.Clients {
			return newClients(t,
				rediskit.Config{Topology: rediskit.Cluster, Addrs: []string{silent, silentAddr(t), silentAddr(t)}})
		},
		"no connection to spare": func(t *testing.T) *rediskit.Clients {
			const size = 6
			clients := newClients(t,
				rediskit.Config{Topology: rediskit.Single, Addrs: []string{testkit.RedisAddr(t)}, PoolSize: size})
			for range size {
				inUse := clients.Commands.(*redis.Client).Conn()
				t.Cleanup(func() { _ = inUse.Close() }) // returns the connection
				if err := inUse.Ping(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
			return clients
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOn(t, open(t), "")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := r.Admit(ctx, gate.Batch{Sale: r.sale, Requests: requests(1, 1), MaxBacklog: 1})
			if !errors.Is(err, order.ErrUnavailable) {
				t.Errorf("Admit: %v, want one that wraps ErrUnavailable", err)
			}
		})
	}
}

// silentAddr returns an address that neither accepts nor refuses connections: a listener whose full backlog drops new
// ones.
func silentAddr(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // the listener has accepted no connection
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var shrunk error
	if err := raw.Control(func(fd uintptr) { shrunk = syscall.Listen(int(fd), 0) }); err != nil || shrunk != nil {
		t.Fatal(err, shrunk)
	}
	for range 64 {
		conn, err := (&net.Dialer{Timeout: 100 * time.Millisecond}).DialContext(t.Context(), "tcp",
			listener.Addr().String())
		if err != nil {
			return listener.Addr().String()
		}
		t.Cleanup(func() { _ = conn.Close() }) // nothing was sent
	}
	t.Fatal("the backlog does not fill")
	return ""
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = client.Close() }()
	clients := &rediskit.Clients{Commands: client, Blocking: client}
	if _, err := New(clients, Options{Word: testWord, Prefix: "shop{1}:"}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a prefix with a hash tag is accepted")
	}
	s, err := New(clients, Options{Word: testWord, Prefix: "shop:"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if s.returnDelay != order.ReturnDelay || s.options.OrphanAfter != 5*time.Second {
		t.Errorf("defaults: %v, %+v", s.returnDelay, s.options)
	}
	for want, got := range map[string]string{
		"shop:{p3}:orders": s.keys.orders(3), "shop:{p3}:dead": s.keys.dead(3),
		"shop:{p3}:consumers": s.keys.consumers(3),
	} {
		equal(t, want, got)
	}
}

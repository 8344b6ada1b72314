package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// When readers hold all connections that they may have, because Redis does not answer them, other classes still get
// theirs. One more reader waits for a connection and then learns that nothing was sent. This holds for commands,
// scripts and pipelines.
func TestReadersLeaveConnectionsToOthers(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	clients := newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{server.Addr}, PoolSize: 16})
	r := rigOn(t, clients, "")
	r.open(1, r.hour(5))
	hold(t, clients, bulkhead.OwnRead)
	for c, served := range map[bulkhead.Class]bool{
		bulkhead.PublicRead: true, // the readers' own class
		bulkhead.OwnRead:    false,
		bulkhead.Background: true,
		bulkhead.Purchase:   true,
		bulkhead.Admin:      true,
		bulkhead.Recording:  true,
	} {
		ctx := bulkhead.With(t.Context(), c)
		for what, ask := range map[string]func() error{
			"a command": func() error { return r.Ping(ctx) },
			"a script": func() error {
				_, err := r.scripts.views.RunInt(ctx, r.commands, []string{"x"})
				return noEffect(err)
			},
			"a pipeline": func() error { return noEffect(rediskit.Translate(pipelined(ctx, r.commands))) },
		} {
			began := time.Now()
			if err := ask(); errors.Is(err, order.ErrUnavailable) == served {
				t.Errorf("%s of %s: %v after %v, served should be %t", what, c, err, time.Since(began), served)
			}
		}
	}
	if _, err := r.Admit(t.Context(),
		gate.Batch{Sale: r.sale, Requests: requests(1, 1), MaxBacklog: 100}); err != nil {
		t.Errorf("a purchase meanwhile: %v", err)
	}
	for _, l := range clients.Permits() {
		if want := map[bulkhead.Class]int64{bulkhead.OwnRead: 3}[l.Class]; l.Shed != want || l.Waiting != 0 {
			t.Errorf("%+v, want %d shed", l, want)
		}
	}
}

// noEffect returns nil unless err says that nothing was sent.
func noEffect(err error) error {
	if errors.Is(err, order.ErrUnavailable) {
		return err
	}
	return nil
}

func pipelined(ctx context.Context, client redis.UniversalClient) error {
	pipe := client.Pipeline()
	first, second := pipe.Get(ctx, "a"), pipe.Get(ctx, "b")
	_, _ = pipe.Exec(ctx) // each command has its own error
	return errors.Join(known(first.Err()), known(second.Err()))
}

// known returns err unless it only says that the key is missing.
func known(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// hold lets a class use all its connections until the test ends.
func hold(t *testing.T, clients *rediskit.Clients, c bulkhead.Class) {
	t.Helper()
	ctx := bulkhead.With(context.WithoutCancel(t.Context()), c)
	const list = "never"
	var all sync.WaitGroup
	held := 0
	t.Cleanup(func() {
		ends := make([]any, held)
		for i := range ends {
			ends[i] = "end"
		}
		if err := clients.Commands.RPush(bulkhead.With(ctx, bulkhead.Background), list, ends...).Err(); err != nil {
			t.Errorf("ending what holds connections: %v", err)
		}
		all.Wait()
	})
	blocked := func() (n int) {
		for _, l := range clients.Permits() {
			if l.Class == c {
				n = l.Most - l.InUse
			}
		}
		return n
	}
	for range blocked() {
		held++
		all.Go(func() {
			_ = clients.Commands.BLPop(ctx, time.Minute, list) // until the test ends
		})
	}
	testkit.Eventually(t, func() bool { return blocked() == 0 })
}

// A new connection first sends several commands of its own, and still needs one permit. With fewer permits than
// commands it would wait for itself.
func TestAConnectionTakesOnePermit(t *testing.T) {
	t.Parallel()
	addr := testkit.RedisAddr(t)
	for _, c := range bulkhead.Stores() {
		want := map[string]int{"<nil>": 20}
		got := pingedAtOnce(t, addr, c, 20)
		// A busy machine may take longer than callers wait for a connection.
		for try := 0; try < 4 && !cmp.Equal(want, got); try++ {
			got = pingedAtOnce(t, addr, c, 20)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c, diff)
		}
	}
}

// pingedAtOnce lets n callers of a class ping over new connections, and counts the answers.
func pingedAtOnce(t *testing.T, addr string, c bulkhead.Class, n int) map[string]int {
	t.Helper()
	clients := newClients(t,
		rediskit.Config{Topology: rediskit.Single, Addrs: []string{addr}, PoolSize: 6, Name: "one"})
	var all sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for range n {
		all.Go(func() {
			err := clients.Commands.Ping(bulkhead.With(t.Context(), c)).Err()
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(err)]++
		})
	}
	all.Wait()
	return got
}

// In a cluster every node has its own permits, and they are counted together.
func TestPermitsOfACluster(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedisCluster(t)
	clients := newClients(t, rediskit.Config{Topology: rediskit.Cluster, Addrs: []string{server.Addr}, PoolSize: 16})
	r := rigOn(t, clients, "")
	r.open(1, r.hour(5))
	hold(t, clients, bulkhead.OwnRead)
	if err := clients.Commands.Get(bulkhead.With(t.Context(), bulkhead.OwnRead),
		"never").Err(); !errors.Is(err, bulkhead.ErrFull) {
		t.Errorf("an own read: %v, want ErrFull", err)
	}
	r.admit(requests(1, 1)...)
}

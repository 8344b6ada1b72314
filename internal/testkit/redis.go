package testkit

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit/server"
)

// cleanupTimeout is how long a test's cleanup may wait for a server.
const cleanupTimeout = time.Minute

// RedisAddr returns the host:port of the shared Redis. A test may touch only its own keys there (see [Redis]), and none
// of the server's settings.
func RedisAddr(tb testing.TB) string {
	tb.Helper()
	addr, err := sharedServers.redisAddress(context.WithoutCancel(tb.Context()))
	if err != nil {
		tb.Fatalf("testkit: Redis: %v", err)
	}
	return addr
}

// Redis returns a client of the shared Redis and a key prefix for the test, without braces and glob characters. The end
// of the test removes all keys with the prefix and closes the client. The client does not retry commands and honours
// contexts' deadlines.
func Redis(tb testing.TB) (client *redis.Client, prefix string) {
	tb.Helper()
	addr := RedisAddr(tb)
	client = newRedisClient(tb, addr)
	prefix = "test:" + rand.Text() + ":"
	tb.Cleanup(func() { removeKeys(tb, addr, prefix) })
	return client, prefix
}

// newRedisClient returns a client that the end of the test closes, before the cleanups registered earlier run.
func newRedisClient(tb testing.TB, addr string) *redis.Client {
	tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	tb.Cleanup(func() { _ = client.Close() }) // a test may have closed it
	return client
}

// removeKeys removes all keys with the prefix. It uses its own client, because the test may have closed the other one.
func removeKeys(tb testing.TB, addr, prefix string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), cleanupTimeout)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 1})
	defer func() { _ = client.Close() }() // no call is under way
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, prefix+"*", 1000).Result()
		if err == nil && len(keys) > 0 {
			err = client.Unlink(ctx, keys...).Err()
		}
		if err != nil {
			tb.Errorf("testkit: remove keys %s*: %v", prefix, err)
			return
		}
		if cursor = next; cursor == 0 {
			return
		}
	}
}

// RedisServer is a [server.Redis] for one test.
type RedisServer struct {
	*server.Redis
	tb testing.TB
}

// StartRedis is [server.StartRedis] for the test, whose end kills the server.
func StartRedis(tb testing.TB, args ...string) *RedisServer {
	tb.Helper()
	r, err := server.StartRedis(tb.Context(), args...)
	return &RedisServer{own(tb, r, err), tb}
}

// StartRedisBy is StartRedis for a redis-server that uses the clock.
func StartRedisBy(tb testing.TB, clock *Clock, args ...string) *RedisServer {
	tb.Helper()
	r, err := server.StartRedisBy(tb.Context(), clock.Clock, args...)
	return &RedisServer{own(tb, r, err), tb}
}

// own has the end of the test close a server that was started for it; err is that of the start.
func own[S io.Closer](tb testing.TB, s S, err error) S {
	tb.Helper()
	if err != nil {
		tb.Fatalf("testkit: start a server: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("testkit: close a server: %v", err)
		}
	})
	return s
}

// Start starts the server again after Stop or Kill, with the same port and directory.
func (r *RedisServer) Start() {
	r.tb.Helper()
	if err := r.Redis.Start(r.tb.Context()); err != nil {
		r.tb.Fatalf("testkit: start the Redis again: %v", err)
	}
}

// Client returns a new client of this server that does not retry commands and honours contexts' deadlines. The end of
// the test closes it.
func (r *RedisServer) Client() *redis.Client {
	r.tb.Helper()
	return newRedisClient(r.tb, r.Addr)
}

// ClusterClient returns a new cluster client of a server from [StartRedisCluster], otherwise like Client.
func (r *RedisServer) ClusterClient() *redis.ClusterClient {
	r.tb.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{r.Addr}, MaxRedirects: 3, ContextTimeoutEnabled: true,
	})
	r.tb.Cleanup(func() { _ = client.Close() }) // a test may have closed it
	return client
}

// StartRedisCluster starts a Redis Cluster of one node with all slots. As in any cluster, a command with keys in
// different slots, or a script with undeclared keys, is an error.
func StartRedisCluster(tb testing.TB) *RedisServer {
	tb.Helper()
	r := StartRedis(tb, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1")
	client, ctx := r.Client(), tb.Context()
	if err := client.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
		tb.Fatalf("testkit: give the cluster its slots: %v", err)
	}
	eventually(tb, "a cluster of one node", func() error {
		info, err := client.ClusterInfo(ctx).Result()
		if err == nil && !strings.Contains(info, "cluster_state:ok") {
			err = errors.New(info)
		}
		return err
	})
	return r
}

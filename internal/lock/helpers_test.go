package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

// soon is far more than anything here should take, and far less than the default lease, after which a bug in waking
// would be hidden.
const soon = 10 * time.Second

// mutexKey is the key of the mutex "m".
func mutexKey(prefix string) string { return prefix + "{lock:m}" }

func mustLock(t *testing.T, m *lock.Mutex) *lock.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	h, err := m.Lock(ctx)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return h
}

func mustRelease(t *testing.T, h *lock.Hold) {
	t.Helper()
	if err := h.Release(t.Context()); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// owner returns who has the mutex "m" according to Redis, "" for nobody.
func owner(t *testing.T, c redis.UniversalClient, prefix string) string {
	t.Helper()
	o, err := c.HGet(t.Context(), mutexKey(prefix), "owner").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("owner: %v", err)
	}
	return o
}

// counter returns the last token of the mutex "m".
func counter(t *testing.T, c redis.UniversalClient, prefix string) int64 {
	t.Helper()
	n, err := c.Get(t.Context(), mutexKey(prefix)+":token").Int64()
	if err != nil {
		t.Fatalf("counter: %v", err)
	}
	return n
}

// ttl returns the time to live of the mutex "m".
func ttl(t *testing.T, c redis.UniversalClient, prefix string) time.Duration {
	t.Helper()
	d, err := c.PTTL(t.Context(), mutexKey(prefix)).Result()
	if err != nil {
		t.Fatalf("PTTL: %v", err)
	}
	return d
}

// eventually waits for something that Redis does on its own, such as noticing that a connection is gone.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s within %v", what, soon)
		}
	}
}

// subscribers returns how many listen for releases of the mutex "m".
func subscribers(t *testing.T, c redis.UniversalClient, prefix string) int64 {
	t.Helper()
	channel := mutexKey(prefix) + ":freed"
	n, err := c.PubSubNumSub(t.Context(), channel).Result()
	if err != nil {
		t.Fatalf("PUBSUB NUMSUB: %v", err)
	}
	return n[channel]
}

// locked is what a call of Lock or TryLock returned.
type locked struct {
	hold *lock.Hold
	err  error
	at   time.Time
}

// lockAsync calls Lock in the background and returns when this one waiter listens for releases.
func lockAsync(ctx context.Context, t *testing.T, m *lock.Mutex, c redis.UniversalClient, prefix string) <-chan locked {
	t.Helper()
	eventually(t, "rid of earlier waiters", func() bool { return subscribers(t, c, prefix) == 0 })
	got := make(chan locked, 1)
	go func() {
		h, err := m.Lock(ctx)
		got <- locked{h, err, time.Now()}
	}()
	eventually(t, "waiting", func() bool { return subscribers(t, c, prefix) == 1 })
	return got
}

// receive waits for what a channel brings, at most soon.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	var v T
	select {
	case v = <-c:
	case <-time.After(soon):
		t.Fatalf("no %s within %v", what, soon)
	}
	return v
}

// viaProxy returns a client that goes through a proxy to the shared Redis, one that does not, and a key prefix. The
// scripts are known to Redis, so that each call is one request.
func viaProxy(t *testing.T) (p *testkit.Proxy, through, direct *redis.Client, prefix string) {
	t.Helper()
	direct, prefix = testkit.Redis(t)
	warm := mustLock(t, lock.New(direct, prefix).Mutex("warm"))
	mustRelease(t, warm)
	p = testkit.NewProxy(t, testkit.RedisAddr(t))
	through = redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = through.Close() }) // nothing is under way
	return p, through, direct, prefix
}

// spy counts script calls and can act before a subscription.
type spy struct {
	lock.Client
	scripts         atomic.Int64
	beforeSubscribe func()
}

func (s *spy) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	s.scripts.Add(1)
	return s.Client.EvalSha(ctx, sha, keys, args...)
}

func (s *spy) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	if s.beforeSubscribe != nil {
		s.beforeSubscribe()
	}
	return s.Client.Subscribe(ctx, channels...)
}

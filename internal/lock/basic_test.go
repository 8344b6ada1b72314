package lock_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

// TestOnEveryBackend runs what a mutex promises on each kind of Redis that it works on. The tests of faults and of time
// need only one.
func TestOnEveryBackend(t *testing.T) {
	t.Parallel()
	for _, b := range []struct {
		name string
		open func(t *testing.T) (redis.UniversalClient, string)
	}{
		{"redis", func(t *testing.T) (redis.UniversalClient, string) { return testkit.Redis(t) }},
		{"cluster", func(t *testing.T) (redis.UniversalClient, string) {
			return testkit.StartRedisCluster(t).ClusterClient(), "test:"
		}},
		{"in process", func(t *testing.T) (redis.UniversalClient, string) {
			client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
			t.Cleanup(func() { _ = client.Close() }) // nothing is under way
			return client, "test:"
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			client, prefix := b.open(t)
			for _, tc := range []struct {
				name string
				run  func(t *testing.T, c redis.UniversalClient, prefix string)
			}{
				{"a free lock is obtained with a lease", freeLockIsObtained},
				{"a held lock is refused and unchanged", heldLockIsRefused},
				{"a second release is refused and publishes nothing", secondReleaseIsRefused},
				{"any name works", anyNameWorks},
				{"a waiter is woken by the release", waiterIsWoken},
			} {
				t.Run(tc.name, func(t *testing.T) { tc.run(t, client, prefix+tc.name+":") })
			}
		})
	}
}

func freeLockIsObtained(t *testing.T, c redis.UniversalClient, prefix string) {
	for _, tc := range []struct {
		name  string
		opts  []lock.Option
		lease time.Duration
	}{
		{"default", nil, lock.DefaultLease},
		{"given", []lock.Option{lock.WithLease(5 * time.Second)}, 5 * time.Second},
		{"renewed", []lock.Option{lock.WithRenewedLease(6 * time.Second)}, 6 * time.Second},
	} {
		h, err := lock.New(c, prefix).Mutex("m", tc.opts...).TryLock(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if d := ttl(t, c, prefix); d <= 0 || d > tc.lease || d < tc.lease-soon {
			t.Errorf("%s: time to live %v, want almost %v", tc.name, d, tc.lease)
		}
		if got := owner(t, c, prefix); got != h.Owner() || len(got) != 36 {
			t.Errorf("%s: owner %q, want the hold's %q, a UUID", tc.name, got, h.Owner())
		}
		if err := h.Err(); err != nil {
			t.Errorf("%s: Err() = %v while held", tc.name, err)
		}
		mustRelease(t, h)
		if got := owner(t, c, prefix); got != "" {
			t.Errorf("%s: owner %q after the release", tc.name, got)
		}
	}
}

func heldLockIsRefused(t *testing.T, c redis.UniversalClient, prefix string) {
	first := mustLock(t, lock.New(c, prefix).Mutex("m", lock.WithLease(20*time.Second)))
	before := ttl(t, c, prefix)
	_, err := lock.New(c, prefix).Mutex("m").TryLock(t.Context())
	wantErr(t, "TryLock", err, lock.ErrNotObtained)
	if after := ttl(t, c, prefix); after > before {
		t.Errorf("time to live rose from %v to %v", before, after)
	}
	if got := owner(t, c, prefix); got != first.Owner() {
		t.Errorf("owner is %q, was %q", got, first.Owner())
	}
	mustRelease(t, first)
}

func TestReleaseOfWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	const lease = 500 * time.Millisecond
	for _, tc := range []struct {
		name  string
		taken bool
	}{{"free", false}, {"another owner's", true}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, prefix := testkit.Redis(t)
			locker := lock.New(c, prefix)
			late := mustLock(t, locker.Mutex("m", lock.WithLease(lease)))
			eventually(t, "free", func() bool { return owner(t, c, prefix) == "" })
			want := ""
			if tc.taken {
				want = mustLock(t, locker.Mutex("m", lock.WithLease(soon))).Owner()
			}
			wantErr(t, "late Release", late.Release(t.Context()), lock.ErrNotHeld)
			if got := owner(t, c, prefix); got != want {
				t.Errorf("owner %q after the late release, want %q", got, want)
			}
		})
	}
}

func secondReleaseIsRefused(t *testing.T, c redis.UniversalClient, prefix string) {
	channel := mutexKey(prefix) + ":freed"
	listener := c.Subscribe(t.Context(), channel)
	defer func() { _ = listener.Close() }() // nothing is under way
	if _, err := listener.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := mustLock(t, lock.New(c, prefix).Mutex("m"))
	mustRelease(t, h)
	wantErr(t, "second Release", h.Release(t.Context()), lock.ErrNotHeld)
	if err := c.Publish(t.Context(), channel, "end of test").Err(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{h.Owner(), "end of test"} {
		msg, err := listener.ReceiveMessage(t.Context())
		if err != nil || msg.Payload != want {
			t.Errorf("published %v, %v; want %q", msg, err, want)
		}
	}
}

func anyNameWorks(t *testing.T, c redis.UniversalClient, prefix string) {
	names := []string{
		"", "a", "a b:c", "{", "}", "{}", "{x}", "a{b}c{d}", "}{", "%7B", "锁", strings.Repeat("n", 1024), "new\nline", "\x00",
	}
	for _, braces := range []string{"", "{}", "{p}:"} {
		locker := lock.New(c, prefix+braces)
		holds := make([]*lock.Hold, len(names)) // all at once: names that fall together would wait
		for i, name := range names {
			h, err := locker.Mutex(name).TryLock(t.Context())
			if err != nil {
				t.Fatalf("name %q with prefix %q: %v", name, braces, err)
			}
			holds[i] = h
		}
		for _, h := range holds {
			mustRelease(t, h)
		}
	}
}

func TestInvalidLease(t *testing.T) {
	t.Parallel()
	c, prefix := testkit.Redis(t)
	locker := lock.New(c, prefix)
	for _, d := range []time.Duration{-time.Second, 0, time.Millisecond, lock.MinLease - 1} {
		_, err := locker.Mutex("m", lock.WithLease(d)).TryLock(t.Context())
		wantErr(t, "TryLock", err, lock.ErrInvalidLease)
		_, err = locker.Mutex("m", lock.WithRenewedLease(d)).Lock(t.Context())
		wantErr(t, "Lock", err, lock.ErrInvalidLease)
	}
}

// span is when a holder had the lock.
type span struct{ from, to time.Time }

func TestHoldersNeverOverlap(t *testing.T) {
	t.Parallel()
	const clients, goroutines, rounds = 3, 4, 15
	c, prefix := testkit.Redis(t)
	counter := prefix + "counter"
	var mu sync.Mutex
	var spans []span
	var wg sync.WaitGroup
	for range clients {
		own := redis.NewClient(&redis.Options{Addr: testkit.RedisAddr(t), MaxRetries: -1, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = own.Close() }) // nothing is under way
		m := lock.New(own, prefix).Mutex("m")
		for range goroutines {
			wg.Go(func() {
				for range rounds {
					h, err := m.Lock(t.Context())
					if err != nil {
						t.Errorf("Lock: %v", err)
						return
					}
					from := time.Now()
					n, err := own.Get(t.Context(), counter).Int() // not atomic, on purpose
					if err != nil && !errors.Is(err, redis.Nil) {
						t.Error(err)
					}
					if err := own.Set(t.Context(), counter, n+1, 0).Err(); err != nil {
						t.Error(err)
					}
					to := time.Now()
					if err := h.Release(t.Context()); err != nil {
						t.Errorf("Release: %v", err)
					}
					mu.Lock()
					spans = append(spans, span{from, to})
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from.Before(spans[i-1].to) {
			t.Errorf("two holders at once: %v and %v", spans[i-1], spans[i])
		}
	}
	if n, err := c.Get(t.Context(), counter).Int(); err != nil || n != clients*goroutines*rounds {
		t.Errorf("counted %d, %v; want %d", n, err, clients*goroutines*rounds)
	}
}

func TestTokensRise(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	c := server.Client()
	counterKey := mutexKey("") + ":token"
	m := lock.New(c, "").Mutex("m", lock.WithLease(time.Second))
	last := int64(0)
	for _, between := range []struct {
		name string
		do   func()
	}{
		{"released", func() {}},
		{"counter expired", func() { c.Del(t.Context(), counterKey) }},
		{"counter about to expire", func() { c.Expire(t.Context(), counterKey, time.Minute) }},
		{"emptied", func() { c.FlushAll(t.Context()) }},
		{"killed and empty", func() { server.Kill(); server.Start() }},
		{"lease over", nil},
		{"at the end", nil},
	} {
		h := mustLock(t, m)
		if h.Token() <= last || h.Token() >= 1<<53 {
			t.Errorf("token %d after %d: want a higher one below 2^53", h.Token(), last)
		}
		last = h.Token()
		if left := c.TTL(t.Context(), counterKey).Val(); left <= 23*time.Hour || left > 24*time.Hour {
			t.Errorf("the counter lives for %v, want a day", left)
		}
		if between.do != nil {
			mustRelease(t, h)
			between.do()
		}
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	c, prefix := testkit.Redis(t)
	m := lock.New(c, prefix).Mutex("m")
	for _, tc := range []struct {
		name string
		f    func(context.Context, *lock.Hold) error
		want error
	}{
		{"success", func(ctx context.Context, h *lock.Hold) error { return errors.Join(ctx.Err(), h.Err()) }, nil},
		{"its error", func(context.Context, *lock.Hold) error { return io.ErrUnexpectedEOF }, io.ErrUnexpectedEOF},
		{"busy", func(ctx context.Context, _ *lock.Hold) error {
			return m.TryDo(ctx, func(context.Context, *lock.Hold) error { return errors.New("ran twice") })
		}, lock.ErrNotObtained},
		{"lost meanwhile", func(ctx context.Context, _ *lock.Hold) error {
			return c.Del(ctx, mutexKey(prefix)).Err()
		}, lock.ErrNotHeld},
	} {
		for how, do := range map[string]func(context.Context, func(context.Context, *lock.Hold) error) error{
			"Do": m.Do, "TryDo": m.TryDo,
		} {
			if err := do(t.Context(), tc.f); !errors.Is(err, tc.want) {
				t.Errorf("%s, %s: %v, want %v", how, tc.name, err, tc.want)
			}
			if got := owner(t, c, prefix); got != "" {
				t.Errorf("%s, %s: still held", how, tc.name)
			}
		}
	}
}

func TestDoReleasesAfterAPanic(t *testing.T) {
	t.Parallel()
	c, prefix := testkit.Redis(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		err := lock.New(c, prefix).Mutex("m").Do(t.Context(), func(context.Context, *lock.Hold) error { panic("bug") })
		t.Errorf("Do returned %v", err)
	}()
	if got := owner(t, c, prefix); got != "" {
		t.Error("still held")
	}
}

package lock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

func waiterIsWoken(t *testing.T, c redis.UniversalClient, prefix string) {
	m := lock.New(c, prefix).Mutex("m")
	const rounds = 9
	var delays []time.Duration
	for range rounds {
		h := mustLock(t, m)
		got := lockAsync(t.Context(), t, m, c, prefix)
		released := time.Now()
		mustRelease(t, h)
		next := receive(t, "lock", got)
		if next.err != nil {
			t.Fatal(next.err)
		}
		delays = append(delays, next.at.Sub(released))
		mustRelease(t, next.hold)
	}
	slices.Sort(delays)
	// The median: other tests run at the same time.
	if d := delays[rounds/2]; d > 50*time.Millisecond {
		t.Errorf("obtained %v after the release, want at most 50ms", d)
	}
}

func TestWaiterGetsALockWhoseLeaseIsOver(t *testing.T) {
	t.Parallel()
	const lease = 400 * time.Millisecond
	c, prefix := testkit.Redis(t)
	locker := lock.New(c, prefix)
	begin := time.Now()
	dead := mustLock(t, locker.Mutex("m", lock.WithLease(lease)))
	next := receive(t, "lock", lockAsync(t.Context(), t, locker.Mutex("m"), c, prefix))
	if next.err != nil {
		t.Fatal(next.err)
	}
	if took := next.at.Sub(begin); took < lease || took > lease+2*time.Second {
		t.Errorf("obtained after %v, want about %v", took, lease)
	}
	wantErr(t, "late Release", dead.Release(t.Context()), lock.ErrNotHeld)
	if got := owner(t, c, prefix); got != next.hold.Owner() {
		t.Errorf("owner %q, want the new holder %q", got, next.hold.Owner())
	}
	mustRelease(t, next.hold)
}

func TestWaitThatEndsLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 150*time.Millisecond)
		}, context.DeadlineExceeded},
		{"cancel", context.WithCancel, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, prefix := testkit.Redis(t)
			h := mustLock(t, lock.New(c, prefix).Mutex("m"))
			watched := &spy{Client: c}
			ctx, cancel := tc.end(t.Context())
			defer cancel()
			waiting := lockAsync(ctx, t, lock.New(watched, prefix).Mutex("m"), c, prefix)
			if errors.Is(tc.want, context.Canceled) {
				cancel()
			}
			<-ctx.Done()
			ended := time.Now()
			got := receive(t, "answer", waiting)
			wantErr(t, "Lock", got.err, tc.want)
			wantErr(t, "Lock", got.err, lock.ErrNotObtained)
			if late := got.at.Sub(ended); late > time.Second {
				t.Errorf("Lock returned %v after its context ended", late)
			}
			eventually(t, "unsubscribed", func() bool { return subscribers(t, c, prefix) == 0 })
			calls := watched.scripts.Load()
			mustRelease(t, h)
			// No ghost: nobody takes it now, and nothing is asked on behalf of the one who left.
			other := mustLock(t, lock.New(c, prefix).Mutex("m"))
			mustRelease(t, other)
			if now := watched.scripts.Load(); now != calls {
				t.Errorf("%d scripts were called after the wait had ended", now-calls)
			}
		})
	}
}

func TestContextThatIsOverTakesNothing(t *testing.T) {
	t.Parallel()
	c, prefix := testkit.Redis(t)
	watched := &spy{Client: c}
	m := lock.New(watched, prefix).Mutex("m")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.TryLock(ctx)
	wantErr(t, "TryLock", err, context.Canceled)
	_, err = m.Lock(ctx)
	wantErr(t, "Lock", err, context.Canceled)
	if n := watched.scripts.Load(); n != 0 {
		t.Errorf("%d scripts were called", n)
	}
}

func TestReleaseBetweenTryAndSubscriptionIsNotMissed(t *testing.T) {
	t.Parallel()
	c, prefix := testkit.Redis(t)
	h := mustLock(t, lock.New(c, prefix).Mutex("m"))
	slow := &spy{Client: c, beforeSubscribe: func() { mustRelease(t, h) }}
	mustRelease(t, mustLock(t, lock.New(slow, prefix).Mutex("m"))) // mustLock gives up long before the lease is over
}

func TestWaiterSurvivesALostSubscription(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	c := server.Client()
	m := lock.New(c, "").Mutex("m")
	h := mustLock(t, m)
	waiting := lockAsync(t.Context(), t, m, c, "")
	if n, err := c.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Result(); err != nil || n != 1 {
		t.Fatalf("killed %d subscriptions, %v; want 1", n, err)
	}
	mustRelease(t, h) // perhaps while nobody listens
	next := receive(t, "lock", waiting)
	if next.err != nil {
		t.Fatal(next.err)
	}
	mustRelease(t, next.hold)
}

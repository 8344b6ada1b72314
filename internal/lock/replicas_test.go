package lock_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
	"seckill/internal/testkit"
)

// withReplicas returns the stage on its own Redis with two replicas.
func (s stage) withReplicas(t *testing.T) (stage, []*testkit.RedisServer) {
	t.Helper()
	master := testkit.StartRedis(t, "--repl-diskless-sync-delay", "0")
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	var replicas []*testkit.RedisServer
	for range 2 {
		replicas = append(replicas, testkit.StartRedis(t, "--replicaof", host+" "+port))
	}
	s = stage{s.kind, master.Client(), ""}
	eventually(t, "replicated", func() bool {
		info, err := s.client.Info(t.Context(), "replication").Result()
		return err == nil && strings.Count(info, "state=online") == len(replicas)
	})
	return s, replicas
}

func enoughReplicas(t *testing.T, s stage) {
	s, replicas := s.withReplicas(t)
	const two = 2
	h := copied(t, s, two)
	for i, r := range replicas {
		replica := stage{s.kind, r.Client(), ""}
		if n := len(replica.remains(t)); n != s.kind.locks() {
			t.Errorf("replica %d has %d keys of locks after the lock was obtained, want %d", i, n, s.kind.locks())
		}
	}
	if err := s.client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	mustRelease(t, h)

	replicas[0].Pause()
	tooFew(t, s, two)
	mustRelease(t, copied(t, s, 1))
	waiterWithTooFew(t, s, two)
	replicas[1].Kill()
	tooFew(t, s, 1)
	replicas[0].Resume()
	mustRelease(t, copied(t, s, 1))
}

// onReplicas returns the lock with OnReplicas(n).
func onReplicas(l aLock, n int) aLock {
	if whole, ok := l.(same[*group.Hold]); ok {
		return several(whole.taker.(*group.Lock).OnReplicas(n))
	}
	return several(group.Multi(l.(same[*lock.Hold]).taker.(*lock.Lock)).OnReplicas(n))
}

// copied takes the lock when there are enough replicas. It retries, because on a busy machine they may confirm too
// late.
func copied(t *testing.T, s stage, replicas int) (h aHold) {
	t.Helper()
	l := onReplicas(s.lock(), replicas)
	eventually(t, "copied", func() (ok bool) {
		var err error
		h, err = l.TryLock(t.Context())
		return err == nil
	})
	return h
}

// tooFew takes the lock when there are too few replicas.
func tooFew(t *testing.T, s stage, replicas int) {
	t.Helper()
	l := onReplicas(s.lock(), replicas)
	for what, call := range map[string]func(context.Context) (aHold, error){"TryLock": l.TryLock, "Lock": l.Lock} {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		h, err := call(ctx)
		cancel()
		if err == nil {
			_ = h.Release(t.Context()) // the test has failed already
			t.Fatalf("%s succeeded with too few replicas", what)
		}
		wantErr(t, what, err, group.ErrTooFewReplicas)
		if errors.Is(err, lock.ErrNotObtained) {
			t.Errorf("%s: %v, want an error that does not blame another holder", what, err)
		}
		if took := time.Since(begin); took > soon {
			t.Errorf("%s took %v", what, took)
		}
		if got := s.owner(t); got != "" {
			t.Errorf("%s: the lock was left to %q", what, got)
		}
		if n := len(s.remains(t)); n != 0 {
			t.Errorf("%s: %d keys of locks are left", what, n)
		}
	}
}

// waiterWithTooFew has two goroutines of a process wait: the first one's error must not reach the second, which asks
// for fewer replicas.
func waiterWithTooFew(t *testing.T, s stage, replicas int) {
	h := mustLock(t, s.rivals().lock())
	locker := newLocker(s.client, s.prefix)
	strict := s.lockAsync(t.Context(), t, onReplicas(s.kind.open(locker, "m", lock.NewOwner()), replicas))
	easy := make(chan locked, 1)
	go func() {
		h, err := s.kind.open(locker, "m", lock.NewOwner()).Lock(t.Context())
		if err == nil {
			err = h.Release(t.Context())
		}
		easy <- locked{h, err, time.Now()}
	}()
	mustRelease(t, h)
	wantErr(t, "Lock", receive(t, "answer", strict).err, group.ErrTooFewReplicas)
	mustReceive(t, easy)
}

package lock_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

func TestLostAnswerOfAcquire(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		lost     int
		obtained bool
	}{
		{"once: asked again", 1, true},
		{"twice: given up", 2, false},
		{"three times: given up, and that asked again", 3, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, through, direct, prefix := viaProxy(t)
			mustRelease(t, mustLock(t, lock.New(direct, prefix).Mutex("m")))
			before := counter(t, direct, prefix)
			p.DropRepliesTo("evalsha", tc.lost)
			h, err := lock.New(through, prefix).Mutex("m").TryLock(t.Context())
			if p.Lost() != tc.lost {
				t.Fatalf("%d answers were lost, want %d", p.Lost(), tc.lost)
			}
			if !tc.obtained {
				if err == nil || errors.Is(err, lock.ErrNotObtained) {
					t.Errorf("TryLock: %v, want the connection's error", err)
				}
				if got := owner(t, direct, prefix); got != "" {
					t.Errorf("the lock was left to %q", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := counter(t, direct, prefix); got != before+1 || h.Token() != got {
				t.Errorf("counter %d after %d, token %d: want one acquisition", got, before, h.Token())
			}
			mustRelease(t, h)
		})
	}
}

func TestLostAnswerOfRelease(t *testing.T) {
	t.Parallel()
	p, through, direct, prefix := viaProxy(t)
	m := lock.New(through, prefix).Mutex("m")

	h := mustLock(t, m)
	p.DropRepliesTo("evalsha", 1)
	mustRelease(t, h)
	if got := owner(t, direct, prefix); got != "" || p.Lost() != 1 {
		t.Errorf("owner %q after the release, %d answers lost; want nobody, 1", got, p.Lost())
	}

	h = mustLock(t, m)
	p.DropRepliesTo("evalsha", 2)
	if err := h.Release(t.Context()); err == nil || errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Release without an answer: %v, want the connection's error", err)
	}
	successor := mustLock(t, lock.New(direct, prefix).Mutex("m"))
	mustRelease(t, h) // it was released: success, and nothing of the successor's
	if got := owner(t, direct, prefix); got != successor.Owner() {
		t.Errorf("owner %q after the repeated release, want %q", got, successor.Owner())
	}
	mustRelease(t, successor)
}

func TestReleaseUnderACancelledContext(t *testing.T) {
	t.Parallel()
	c, prefix := testkit.Redis(t)
	h := mustLock(t, lock.New(c, prefix).Mutex("m"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Release(ctx); err != nil {
		t.Errorf("Release: %v", err)
	}
	if got := owner(t, c, prefix); got != "" {
		t.Error("still held")
	}
}

func TestDeadlineDuringTheAcquire(t *testing.T) {
	t.Parallel()
	p, through, direct, prefix := viaProxy(t)
	if err := through.Ping(t.Context()).Err(); err != nil { // the connection's greeting is not what is tested
		t.Fatal(err)
	}
	p.Delay(60 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Millisecond) // sent, and not answered
	defer cancel()
	h, err := lock.New(through, prefix).Mutex("m").TryLock(ctx)
	if err == nil {
		t.Fatalf("obtained %v in spite of the delay", h.Token())
	}
	if got := owner(t, direct, prefix); got != "" {
		t.Errorf("the lock was left to %q", got)
	}
}

// stuck keeps acquires (the scripts with three keys) back, as a network might, and says that their answers were lost.
type stuck struct {
	lock.Client
	kept []func() error
}

func (s *stuck) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if len(keys) != 3 {
		return s.Client.EvalSha(ctx, sha, keys, args...)
	}
	late := context.WithoutCancel(ctx)
	s.kept = append(s.kept, func() error { return s.Client.EvalSha(late, sha, keys, args...).Err() })
	lost := redis.NewCmd(ctx)
	lost.SetErr(io.ErrUnexpectedEOF)
	return lost
}

func TestAcquireThatArrivesAfterGivingUp(t *testing.T) {
	t.Parallel()
	c, prefix := testkit.Redis(t)
	mustRelease(t, mustLock(t, lock.New(c, prefix).Mutex("m"))) // the scripts are known to Redis
	network := &stuck{Client: c}
	_, err := lock.New(network, prefix).Mutex("m").TryLock(t.Context())
	wantErr(t, "TryLock", err, io.ErrUnexpectedEOF)
	if len(network.kept) != 2 {
		t.Fatalf("asked %d times, want 2", len(network.kept))
	}
	for _, arrive := range network.kept {
		if err := arrive(); err != nil {
			t.Fatal(err)
		}
	}
	if got := owner(t, c, prefix); got != "" {
		t.Errorf("a ghost took the lock: %q", got)
	}
}

func TestRedisThatIsAway(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	m := lock.New(server.Client(), "").Mutex("m")
	h := mustLock(t, m)
	server.Kill()
	begin := time.Now()
	for what, call := range map[string]func() error{
		"TryLock": func() error { _, err := m.TryLock(t.Context()); return err },
		"Lock":    func() error { _, err := m.Lock(t.Context()); return err },
		"Release": func() error { return h.Release(t.Context()) },
	} {
		if err := call(); err == nil || errors.Is(err, lock.ErrNotObtained) || errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("%s: %v, want the connection's error", what, err)
		}
	}
	if took := time.Since(begin); took > soon {
		t.Errorf("three calls took %v", took)
	}
	server.Start()
	wantErr(t, "Release after an empty restart", h.Release(t.Context()), lock.ErrNotHeld)
	mustRelease(t, mustLock(t, m)) // with the same client
}

func TestForgottenScripts(t *testing.T) {
	t.Parallel()
	c := testkit.StartRedis(t).Client()
	m := lock.New(c, "").Mutex("m")
	for range 2 {
		h := mustLock(t, m)
		if err := c.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		mustRelease(t, h)
	}
}

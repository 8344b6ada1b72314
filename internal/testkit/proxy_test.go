package testkit_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
)

// behindProxy returns a client through the proxy, a direct client, and a key prefix.
func behindProxy(t *testing.T) (p *testkit.Proxy, through, direct *redis.Client, prefix string) {
	t.Helper()
	direct, prefix = testkit.Redis(t)
	p = testkit.NewProxy(t, testkit.RedisAddr(t))
	through = redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() {
		if err := through.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, through, direct, prefix
}

func TestProxyLosesReplies(t *testing.T) {
	t.Parallel()
	p, through, direct, prefix := behindProxy(t)
	ctx, key := t.Context(), prefix+"n"
	if err := through.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	p.DropRepliesTo("INCR", 2)
	for i := range 2 {
		if err := through.Incr(ctx, key).Err(); err == nil {
			t.Errorf("INCR %d: its reply was not lost", i)
		}
		if err := through.Ping(ctx).Err(); err != nil {
			t.Errorf("another command failed: %v", err)
		}
	}
	if n, err := through.Incr(ctx, key).Result(); err != nil || n != 3 {
		t.Errorf("third INCR = %d, %v; want 3: the first two took effect", n, err)
	}
	p.DropRepliesTo("GET", 1)
	if err := through.Get(ctx, key).Err(); err == nil {
		t.Error("GET: its reply was not lost")
	}
	if got := p.Lost(); got != 3 {
		t.Errorf("Lost() = %d, want 3", got)
	}
	if n, err := direct.Get(ctx, key).Int(); err != nil || n != 3 {
		t.Errorf("the server has %d, %v; want 3", n, err)
	}
}

func TestProxyCutsAndHeals(t *testing.T) {
	t.Parallel()
	p, through, _, _ := behindProxy(t)
	ctx := t.Context()
	p.Cut()
	if err := through.Ping(ctx).Err(); err == nil {
		t.Error("PING passes a cut")
	}
	p.Heal()
	if err := through.Ping(ctx).Err(); err != nil {
		t.Errorf("PING after Heal: %v", err)
	}
}

func TestProxyBlackholeDeliversLate(t *testing.T) {
	t.Parallel()
	p, through, direct, prefix := behindProxy(t)
	ctx, key := t.Context(), prefix+"k"
	if err := through.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	p.Blackhole()
	answer := make(chan error, 1)
	go func() { answer <- through.Set(ctx, key, "v", 0).Err() }()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	var timeout net.Error
	if err := through.Ping(short).Err(); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("PING into the hole: %v, want a timeout", err)
	}
	if n, err := direct.Exists(ctx, key).Result(); err != nil || n != 0 {
		t.Errorf("SET arrived: %d, %v", n, err)
	}
	p.Heal()
	if err := <-answer; err != nil {
		t.Errorf("SET after Heal: %v", err)
	}
}

func TestProxyDelays(t *testing.T) {
	t.Parallel()
	p, through, _, _ := behindProxy(t)
	ctx := t.Context()
	if err := through.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	const d = 30 * time.Millisecond
	p.Delay(d)
	begin := time.Now()
	if err := through.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 2*d {
		t.Errorf("PING took %v, want %v at least", took, 2*d)
	}
}

func TestProxyBreakpoints(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answered bool
		end      func(*testkit.Breakpoint)
		before   int  // the value at the breakpoint
		after    int  // the final value
		ok       bool // the client gets its answer
	}{
		"a request that passes":    {false, (*testkit.Breakpoint).Release, 1, 2, true},
		"a request that is lost":   {false, (*testkit.Breakpoint).Cut, 1, 1, false},
		"an answer that passes":    {true, (*testkit.Breakpoint).Release, 2, 2, true},
		"an answer that is lost":   {true, (*testkit.Breakpoint).Cut, 2, 2, false},
		"a request in a cut proxy": {false, nil, 1, 1, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, through, direct, prefix := behindProxy(t)
			ctx, key := t.Context(), prefix+"n"
			value := func() int {
				t.Helper()
				n, err := direct.Get(ctx, key).Int()
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			b := p.Break(testkit.Match{Text: "INCR", After: "ECHO", Answered: tt.answered})
			if err := through.Incr(ctx, key).Err(); err != nil {
				t.Fatalf("a request before the breakpoint: %v", err)
			}
			if err := through.Echo(ctx, "now").Err(); err != nil {
				t.Fatal(err)
			}
			answer := make(chan error, 1)
			go func() { answer <- through.Incr(ctx, key).Err() }()
			<-b.Reached()
			if n := value(); n != tt.before {
				t.Errorf("%d at the breakpoint, want %d", n, tt.before)
			}
			if err := through.Ping(ctx).Err(); err != nil {
				t.Errorf("another connection: %v", err)
			}
			if tt.end != nil {
				tt.end(b)
			} else {
				p.Reset()
			}
			if err := <-answer; (err == nil) != tt.ok {
				t.Errorf("the client: %v", err)
			}
			if n := value(); n != tt.after {
				t.Errorf("%d in the end, want %d", n, tt.after)
			}
		})
	}
}

func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	p, through, _, prefix := behindProxy(t)
	ctx, key := t.Context(), prefix+"n"
	p.Refuse("incr")
	for range 2 {
		if err := through.Incr(ctx, key).Err(); err == nil {
			t.Error("INCR passes")
		}
		if err := through.Ping(ctx).Err(); err != nil {
			t.Errorf("another command: %v", err)
		}
	}
	if n := p.Refused(); n != 2 {
		t.Errorf("Refused() = %d, want 2", n)
	}
	p.Heal()
	if n, err := through.Incr(ctx, key).Result(); err != nil || n != 1 {
		t.Errorf("INCR after Heal = %d, %v; want 1: the others never arrived", n, err)
	}
}

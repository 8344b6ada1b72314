package wiring

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/order"
	"seckill/internal/telemetry"
	"seckill/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A silent Redis is a failure, not a lock that another instance holds: otherwise work would be skipped unnoticed.
func TestSilentRedisIsAFailure(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	p := testkit.NewProxy(t, testkit.RedisAddr(t))
	client := redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() }) // nothing is under way
	for _, tc := range []struct {
		name         string
		silent       bool
		busy, failed string
	}{{"held by another", false, "1", "0"}, {"silent", true, "0", "2"}} {
		metrics := telemetry.NewMetrics(telemetry.Build{})
		locks, err := lock.New(client, prefix)
		if err != nil {
			t.Fatal(err)
		}
		l := locker{locks: locks, metrics: metrics}
		h, err := locks.Mutex("m").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var deadline []error
		if tc.silent {
			p.Blackhole()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			deadline = append(deadline, l.Do(ctx, "m", func(context.Context) error { return nil }))
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		deadline = append(deadline, l.TryDo(ctx, "m", func(context.Context) error { return nil }))
		cancel()
		p.Heal()
		for _, err := range deadline {
			if errors.Is(err, order.ErrBusy) == tc.silent || err == nil {
				t.Errorf("%s: %v", tc.name, err)
			}
		}
		// A caller who has given up does not count as a failure.
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.TryDo(gone, "m", func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %v", tc.name, err)
		}
		page := httptest.NewRecorder()
		metrics.Handler().ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		for reason, n := range map[string]string{"busy": tc.busy, "failed": tc.failed} {
			want := `seckill_lock_refusals_total{reason="` + reason + `"} ` + n
			if !strings.Contains(page.Body.String(), want) {
				t.Errorf("%s: no line %s", tc.name, want)
			}
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExpireUsesElapsedTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	start := time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC)
	ticks, done := make(chan time.Time), make(chan struct{})
	var got []time.Duration
	go func() {
		defer close(done)
		expire(ctx, start, ticks, func(d time.Duration) { got = append(got, d) })
	}()
	for _, at := range []time.Duration{
		100 * time.Millisecond,
		700 * time.Millisecond, // late: ticks were lost before it
		700 * time.Millisecond, // no time has passed
		650 * time.Millisecond, // a clock that went back
		800 * time.Millisecond,
	} {
		ticks <- start.Add(at)
	}
	cancel()
	<-done
	want := []time.Duration{100 * time.Millisecond, 600 * time.Millisecond, 100 * time.Millisecond}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRunMakesKeysExpire(t *testing.T) {
	t.Parallel()
	h := open(t, t.TempDir())
	c := client(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	if err := c.Set(ctx, "lease", "1", 150*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(ctx, "kept", "1", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	set := time.Now()
	for n := int64(2); n > 1; {
		var err error
		if n, err = c.Exists(ctx, "lease", "kept").Result(); err != nil {
			t.Fatal(err)
		}
		if time.Since(set) > time.Minute {
			t.Fatal("the key has not expired")
		}
	}
	if ttl, err := c.PTTL(ctx, "kept").Result(); err != nil || ttl < time.Hour-time.Minute || ttl >= time.Hour {
		t.Errorf("the other key has %v left, %v", ttl, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestRedisTimeIsTheSystems(t *testing.T) {
	t.Parallel()
	c := client(t, open(t, t.TempDir()))
	before := time.Now().Truncate(time.Microsecond)
	now, err := c.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	if now.Before(before) || now.After(time.Now()) {
		t.Errorf("Redis has the time %v, the system %v", now, before)
	}
}

package testkit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
)

func TestRedisPrefixesAreCleared(t *testing.T) { //nolint:tparallel // the keys are checked after the subtest
	t.Parallel()
	other, _ := testkit.Redis(t)
	var prefix string
	t.Run("a test leaves keys behind", func(t *testing.T) {
		client, own := testkit.Redis(t)
		prefix = own
		for _, key := range []string{"a", "{b}:c"} {
			if err := client.Set(t.Context(), prefix+key, 1, 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if left, err := other.Keys(t.Context(), prefix+"*").Result(); err != nil || len(left) > 0 {
		t.Errorf("keys left: %v, %v; want none", left, err)
	}
}

func TestStartRedisAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		end  func(*testkit.RedisServer)
		args []string
		want int64
	}{
		{"stopped without persistence", func(r *testkit.RedisServer) { r.Stop() }, nil, 0},
		{"killed without persistence", func(r *testkit.RedisServer) { r.Kill() }, nil, 0},
		{
			"killed with appendfsync always", func(r *testkit.RedisServer) { r.Kill() },
			[]string{"--appendonly", "yes", "--appendfsync", "always"},
			1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := testkit.StartRedis(t, tc.args...)
			client, addr := r.Client(), r.Addr
			if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			tc.end(r)
			if err := client.Ping(t.Context()).Err(); err == nil {
				t.Error("the server still answers")
			}
			r.Start()
			if r.Addr != addr {
				t.Errorf("address is %s after the start, was %s", r.Addr, addr)
			}
			if got, err := r.Client().Exists(t.Context(), "k").Result(); err != nil || got != tc.want {
				t.Errorf("EXISTS k = %d, %v; want %d", got, err, tc.want)
			}
		})
	}
}

func TestStartRedisCluster(t *testing.T) {
	t.Parallel()
	r := testkit.StartRedisCluster(t)
	ctx := context.WithoutCancel(t.Context())
	if err := r.ClusterClient().Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.Client().MSet(ctx, "a", 1, "b", 2).Err(); err == nil {
		t.Error("a command with keys in two slots succeeded")
	}
}

// TestStartRedisClusterOf: a cluster's slot moves, its masters fail over, and a node joins, and all keys stay.
func TestStartRedisClusterOf(t *testing.T) {
	t.Parallel()
	c := testkit.StartRedisClusterOf(t, 2, 15*time.Second) // no master is to be replaced by itself, on however busy a machine
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	t.Cleanup(func() { _ = client.Close() }) // nothing is under way
	for i := range 30 {
		if err := client.Set(t.Context(), fmt.Sprintf("{slot}:%d", i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	c.AddNode()
	c.MoveSlot("{slot}", len(c.Nodes)-1, 0)
	if got := c.Master("{slot}"); got != len(c.Nodes)-1 {
		t.Errorf("node %d serves the slot, want the new one", got)
	}
	old := c.Master("b")
	replica, other := c.Replica(old), c.Master("{slot}")
	planned := c.Mover("b", other, 0)
	c.Failover(replica)
	for deadline := time.Now().Add(2 * time.Minute); slices.Contains(c.Masters(), old); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("node %d is a master still", old)
		}
	}
	if err := planned(); err == nil || !strings.Contains(err.Error(), c.Nodes[old].Addr+": it is a slave now") {
		t.Errorf("moving a slot from what was a master: %v", err)
	}
	if masters := c.Masters(); !slices.Contains(masters, replica) || len(masters) != 3 {
		t.Errorf("the masters are %v, after %d has taken the place of %d", masters, replica, old)
	}
	c.AwaitReady()
	for i := range 30 {
		if got, err := client.Get(t.Context(), fmt.Sprintf("{slot}:%d", i)).Int(); err != nil || got != i {
			t.Errorf("key %d is %d, %v", i, got, err)
		}
	}
}

func TestRedisGoesByAClock(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(t)
	client := testkit.StartRedisBy(t, clock).Client()
	for _, offset := range []time.Duration{0, -time.Hour, time.Hour} {
		clock.Set(offset)
		now, err := client.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Since(now) + offset; off.Abs() > time.Minute {
			t.Errorf("its clock is to be off by %v and says %v, %v more", offset, now, off)
		}
	}
}

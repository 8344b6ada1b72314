package rediskit

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
)

// TestMasterDeadForGood: a master of a cluster dies, or hangs, for good. Its replica takes over, and the clients follow
// it although no node tells them that a slot has moved (F43).
func TestMasterDeadForGood(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*testkit.RedisServer){
		"killed": func(s *testkit.RedisServer) { s.Kill() },
		"hung":   func(s *testkit.RedisServer) { s.Pause() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := testkit.StartRedisClusterOf(t, 3, 1, 3*time.Second)
			clients := newClients(t, Config{Topology: Cluster, Addrs: cluster.Addrs(), Timeout: time.Second})
			const key = "{p0}:orders"
			for _, c := range []redis.UniversalClient{clients.Commands, clients.Blocking} {
				if err := c.Get(t.Context(), key).Err(); !errors.Is(err, redis.Nil) { // now both clients know the slots
					t.Fatal(err)
				}
			}
			master := cluster.Master(key)
			replica := cluster.Nodes[cluster.Replica(master)].Client()
			fail(cluster.Nodes[master])
			testkit.Eventually(t, func() bool { return replica.Set(t.Context(), key, "written", 0).Err() == nil })
			start := time.Now()
			for _, c := range []redis.UniversalClient{clients.Commands, clients.Blocking} {
				testkit.Eventually(t, func() bool { return c.Get(t.Context(), key).Val() == "written" })
			}
			t.Logf("reached %v after the replica took over", time.Since(start).Round(time.Millisecond))
		})
	}
}

// TestSlotMapReloads: many refused connections at once cause one reload; an error that a node returns causes none.
func TestSlotMapReloads(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedisCluster(t)
	var loads atomic.Int64
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{server.Addr}, MaxRetries: -1, MaxRedirects: -1, DialerRetries: 1,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			loads.Add(1)
			return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: server.Addr}}}}, nil
		},
	})
	t.Cleanup(func() { _ = client.Close() }) // nothing is under way
	watchSlotMap(client)
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.LPush(t.Context(), "k", "v").Err(); err == nil {
		t.Fatal("a list is made of a string")
	}
	if n := loads.Load(); n != 1 {
		t.Fatalf("%d loads of the slot map before anything failed, want 1", n)
	}
	server.Kill()
	start := time.Now()
	testkit.Eventually(t, func() bool { _ = client.Get(t.Context(), "k").Err(); return loads.Load() >= 3 })
	if most := int64(time.Since(start)/slotMapPause) + 2; loads.Load() > most {
		t.Errorf("%d reloads in %v, want %d at most", loads.Load(), time.Since(start), most)
	}
}

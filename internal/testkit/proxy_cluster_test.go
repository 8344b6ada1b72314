package testkit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
)

// TestClusterProxy checks that a cluster's client stays behind the proxy when it loads the slots and when it is
// redirected, and that the proxy's faults reach it there.
func TestClusterProxy(t *testing.T) {
	t.Parallel()
	// The long timeout prevents failovers, even on a busy machine.
	c := testkit.StartRedisClusterOf(t, 2, 1, 15*time.Second)
	p := testkit.NewClusterProxy(t, c.Addrs())
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: p.Addrs()[:1], MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() }) // no call is under way
	const key = "{slot}"
	if err := client.Set(t.Context(), key, 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	//nolint:staticcheck // deprecated, but what the client itself goes by
	known, err := client.ClusterSlots(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, slots := range known {
		for _, node := range slots.Nodes {
			if !slices.Contains(p.Addrs(), node.Addr) {
				t.Errorf("the client got the address %s, want one of %v", node.Addr, p.Addrs())
			}
		}
	}
	c.MoveSlot(key, 1-c.Master(key), 0)
	if n, err := client.Incr(t.Context(), key).Result(); err != nil || n != 2 {
		t.Errorf("behind a redirection: %d, %v", n, err)
	}
	p.DropRepliesTo("incr", 1)
	once := client.Incr(t.Context(), key).Err()
	if n, err := c.Nodes[c.Master(key)].Client().Get(t.Context(), key).Int(); err != nil || n < 3 || p.Lost() != 1 {
		t.Errorf("with one reply lost: %v; then %d, %v, lost %d", once, n, err, p.Lost())
	}
}

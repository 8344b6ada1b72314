package redisstore

import (
	"fmt"
	"testing"
	"time"

	"seckill/internal/testkit"
)

// The server that has a partition is inspected, and no other one needs to answer.
func TestInspectAsksThePartitionsNode(t *testing.T) {
	t.Parallel()
	cluster := testkit.StartRedisClusterOf(t, 3, time.Minute)
	r := rigOn(t, newClients(t, ClientConfig{Topology: Cluster, Addrs: cluster.Addrs(), Timeout: time.Second}), "")
	limit := func(node int) int64 { return int64(node+1) << 30 }
	for i := range 3 {
		if err := cluster.Nodes[i].Client().ConfigSet(t.Context(), "maxmemory", fmt.Sprint(limit(i))).Err(); err != nil {
			t.Fatal(err)
		}
	}
	nodes := map[int]int{} // partition → its node
	for partition := range 8 {
		node := cluster.Master(r.keys.orders(partition))
		got, err := r.Inspect(t.Context(), partition)
		if err != nil || got.Limit != limit(node) || got.Used <= 0 || got.Replicas != 1 || got.AppendOnly == "" {
			t.Errorf("partition %d: %+v, %v, want the limit %d of node %d", partition, got, err, limit(node), node)
		}
		nodes[partition] = node
	}
	hung := nodes[0]
	cluster.Nodes[hung].Pause()
	for partition, node := range nodes {
		if _, err := r.Inspect(t.Context(), partition); (err != nil) != (node == hung) {
			t.Errorf("partition %d on node %d, while node %d hangs: %v", partition, node, hung, err)
		}
	}
}

package checklist

import (
	"cmp"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"seckill/internal/redisstore"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
	"seckill/internal/voucher"
)

// Inspecting a partition needs only the server that has it. If another server hangs, sales are still shown.
func TestInspectAsksThePartitionsNode(t *testing.T) {
	t.Parallel()
	cluster := testkit.StartRedisClusterOf(t, 3, 1, time.Minute)
	found, store := serversOf(t,
		rediskit.Config{Topology: rediskit.Cluster, Addrs: cluster.Addrs(), Timeout: time.Second})
	limit := func(node int) int64 { return int64(node+1) << 30 }
	for i := range 3 {
		if err := cluster.Nodes[i].Client().ConfigSet(t.Context(), "maxmemory",
			fmt.Sprint(limit(i))).Err(); err != nil {
			t.Fatal(err)
		}
	}
	nodes := map[int]int{} // partition → its node
	for partition := range 8 {
		node := cluster.Master(store.Key(partition, "orders"))
		got, err := found.inspect(t.Context(), partition)
		if err != nil || got.Limit != limit(node) || got.Used <= 0 || got.Replicas != 1 || got.AppendOnly == "" {
			t.Errorf("partition %d: %+v, %v, want the limit %d of node %d", partition, got, err, limit(node), node)
		}
		nodes[partition] = node
	}
	hung := nodes[0]
	cluster.Nodes[hung].Pause()
	for partition, node := range nodes {
		if node == hung {
			if _, err := found.inspect(t.Context(), partition); err == nil {
				t.Errorf("partition %d is inspected while its node hangs", partition)
			}
			continue
		}
		testkit.Eventually(t, func() bool { // a busy machine may take longer than the service waits
			_, err := found.inspect(t.Context(), partition)
			return err == nil
		})
	}
	expectLive(t, store, func(partition int) bool { return nodes[partition] == hung })
}

// expectLive expects that sales are shown, and are stale in the partitions that hang.
func expectLive(t *testing.T, r *redisstore.Store, hangs func(partition int) bool) {
	t.Helper()
	var vs, lost []voucher.Voucher
	for partition := range 8 {
		v := voucher.Voucher{
			ID: int64(100 + partition), Status: voucher.OnShelf, Sale: &voucher.Sale{Partition: partition},
		}
		if vs = append(vs, v); hangs(partition) {
			lost = append(lost, v)
		}
	}
	testkit.Eventually(t, func() bool {
		live, now, err := r.Live(t.Context(), vs)
		if err != nil || now.IsZero() {
			return false
		}
		for partition, l := range live {
			if l.Stale != hangs(partition) {
				return false
			}
		}
		return true
	})
	if _, _, err := r.Live(t.Context(), lost); err == nil {
		t.Error("sales that all hang are shown")
	}
}

// serversOf returns the servers that clients with this configuration know, and the store of sales on them.
func serversOf(t *testing.T, c rediskit.Config) (servers, *redisstore.Store) {
	t.Helper()
	c.PoolSize, c.Readers, c.Timeout = 64, 16, cmp.Or(c.Timeout, 10*time.Second)
	clients, err := rediskit.NewClients(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clients.Close(); err != nil {
			t.Error(err)
		}
	})
	store, err := redisstore.New(clients, redisstore.Options{Word: "1/ledger"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return servers{partitions: store}, store
}

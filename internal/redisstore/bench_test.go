package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/testkit"
)

// BenchmarkAdmit measures one call of the admission script against the number of requests in it, all of which are
// accepted: the most expensive answer there is.
func BenchmarkAdmit(b *testing.B) {
	for _, n := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("requests=%d", n), func(b *testing.B) {
			r := newRig(b)
			o := r.hour(1 << 40)
			r.open(1, o)
			batch := order.Batch{Sale: r.sale, MaxBacklog: 1 << 40, Requests: requests(1, n)}
			b.ReportAllocs()
			for b.Loop() {
				for i := range batch.Requests {
					batch.Requests[i].UserID += int64(n)
					batch.Requests[i].OrderID += int64(n)
				}
				if _, err := r.Admit(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// BenchmarkDecode measures reading one stream entry, which every accepted order is once.
func BenchmarkDecode(b *testing.B) {
	message := redis.XMessage{ID: "1770000000000-0", Values: map[string]any{
		entryVoucher: "7", entryUser: "1234567", entryOrder: "657389237843394561", entryEpoch: "3", entrySequence: "4999",
	}}
	b.ReportAllocs()
	for b.Loop() {
		if e := decode(0, message); e.Malformed != nil {
			b.Fatal(e.Malformed)
		}
	}
}

// BenchmarkAdmitSales measures a rush on many sales at once, each with one request at a time: their calls share sends.
func BenchmarkAdmitSales(b *testing.B) {
	for _, sales := range []int64{1, 64, 512} {
		b.Run(fmt.Sprintf("sales=%d", sales), func(b *testing.B) {
			r := newRig(b)
			for id := range sales {
				r.sale.VoucherID = id + 1
				r.open(1, r.hour(1<<40))
			}
			b.ReportAllocs()
			b.ResetTimer()
			var user atomic.Int64
			var all sync.WaitGroup
			for id := range sales {
				all.Go(func() {
					for n := user.Add(1); n <= int64(b.N); n = user.Add(1) {
						batch := order.Batch{Sale: order.SaleRef{SaleID: order.SaleID{VoucherID: id + 1}}, MaxBacklog: 1 << 40, Requests: requests(n, 1)}
						if _, err := r.Admit(b.Context(), batch); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// BenchmarkPartitions measures what an order costs the masters of a cluster, from its admission until it is acknowledged, while 64 sales
// that are spread over partitions sell at once: in processor time, of the busiest one and of all. Each master has a replica.
func BenchmarkPartitions(b *testing.B) {
	for _, on := range []struct{ masters, partitions int }{{1, 1}, {3, 4}, {4, 4}} {
		b.Run(fmt.Sprintf("masters=%d/partitions=%d", on.masters, on.partitions), func(b *testing.B) {
			cluster := testkit.StartRedisClusterOf(b, on.masters, time.Minute)
			r := rigOn(b, newClients(b, ClientConfig{Topology: Cluster, Addrs: cluster.Addrs(), PoolSize: 64}), "")
			const sales = 64
			refs := make([]order.SaleRef, sales)
			for i := range refs {
				r.sale = order.SaleRef{SaleID: order.SaleID{VoucherID: int64(i + 1)}, Partition: i % on.partitions}
				r.open(1, r.hour(1<<40))
				refs[i] = r.sale
			}
			before := processors(b, cluster.Nodes[:on.masters])
			b.ResetTimer()
			sellAndAcknowledge(b, r, refs, on.partitions)
			b.StopTimer()
			var busiest, all time.Duration
			for addr, spent := range processors(b, cluster.Nodes[:on.masters]) {
				spent -= before[addr]
				busiest, all = max(busiest, spent), all+spent
			}
			b.ReportMetric(float64(busiest.Microseconds())/float64(b.N), "µs-busiest/order")
			b.ReportMetric(float64(all.Microseconds())/float64(b.N), "µs-all/order")
		})
	}
}

// sellAndAcknowledge sells b.N orders in batches of eight, while a consumer of each partition reads and acknowledges them.
func sellAndAcknowledge(b *testing.B, r *rig, sales []order.SaleRef, partitions int) {
	const batch = 8
	var (
		selling, reading sync.WaitGroup
		user, done       atomic.Int64
	)
	ctx, finished := context.WithCancel(b.Context())
	defer finished()
	for n := range partitions {
		consumer := r.Consumer(n, "bench")
		reading.Go(func() {
			for ctx.Err() == nil {
				entries, err := consumer.Next(ctx, 500, 50*time.Millisecond)
				if err != nil || len(entries) == 0 {
					continue
				}
				keys := map[string]bool{}
				for _, e := range entries {
					keys[e.Key] = true
				}
				if _, err := consumer.Acknowledge(ctx, slices.Collect(maps.Keys(keys))); err != nil {
					b.Error(err)
				}
				if done.Add(int64(len(entries))) >= int64(b.N) {
					finished()
				}
			}
		})
	}
	for _, sale := range sales {
		selling.Go(func() {
			for last := user.Add(batch); last-batch < int64(b.N); last = user.Add(batch) {
				n := min(batch, int64(b.N)-(last-batch))
				if _, err := r.Admit(b.Context(), order.Batch{Sale: sale, MaxBacklog: 1 << 40, Requests: requests(last-batch+1, int(n))}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	selling.Wait()
	reading.Wait()
}

// processors returns what processor time each server has had.
func processors(b *testing.B, nodes []*testkit.RedisServer) map[string]time.Duration {
	b.Helper()
	spent := map[string]time.Duration{}
	for _, node := range nodes {
		spent[node.Addr] = processorTime(infoOf(b.Context(), node.Client(), "cpu"))
	}
	return spent
}

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
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// BenchmarkAdmit measures one call of the admission script for growing numbers of requests, all accepted: the most
// expensive answer.
func BenchmarkAdmit(b *testing.B) {
	for _, n := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("requests=%d", n), func(b *testing.B) {
			r := newRig(b)
			o := r.hour(1 << 40)
			r.open(1, o)
			batch := gate.Batch{Sale: r.sale, MaxBacklog: 1 << 40, Requests: requests(1, n)}
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

// BenchmarkDecode measures reading one stream entry, as happens once per accepted order.
func BenchmarkDecode(b *testing.B) {
	message := redis.XMessage{ID: "1770000000000-0", Values: map[string]any{
		entryVoucher: "7", entryUser: "1234567", entryOrder: "657389237843394561",
		entryEpoch: "3", entrySequence: "4999",
	}}
	b.ReportAllocs()
	for b.Loop() {
		if e := decode(0, message); e.Malformed != nil {
			b.Fatal(e.Malformed)
		}
	}
}

// BenchmarkAdmitSales measures one call with a request for each of that many sales.
func BenchmarkAdmitSales(b *testing.B) {
	for _, sales := range []int64{1, 16, gate.MaxSales} {
		b.Run(fmt.Sprintf("sales=%d", sales), func(b *testing.B) {
			r := newRig(b)
			batches := r.sales(sales, 1<<40)
			b.ReportAllocs()
			for b.Loop() {
				for i := range batches {
					batches[i].MaxBacklog = 1 << 40
					batches[i].Requests[0].UserID++
					batches[i].Requests[0].OrderID++
				}
				if _, err := r.Store.Admit(b.Context(), batches); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(sales)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// ordersATurn is how many orders each turn of the benchmarks on clusters sells.
const ordersATurn = 100_000

// BenchmarkPartitions measures the processor time that an order costs the masters of a cluster, from its admission to
// its acknowledgement, while 64 sales in several partitions sell at once: that of the busiest master and that of all
// masters with a partition. Each master has a replica. One iteration is a turn of each.
func BenchmarkPartitions(b *testing.B) {
	var markets []*market
	for _, on := range []struct{ masters, partitions int }{{1, 1}, {3, 4}, {4, 4}} {
		c := newMasters(b, on.masters)
		m := c.market(fmt.Sprintf("partitions=%d/masters=%d", on.partitions, on.masters), 8)
		for i := range 64 {
			m.sell(order.SaleRef{VoucherID: int64(i + 1), Partition: i % on.partitions})
		}
		m.saleOf = func(user int64) int { return int(user % 64) }
		markets = append(markets, m)
	}
	takeTurns(b, markets)
}

// takeTurns lets each market sell in each iteration, and reports the cost of an order there.
func takeTurns(b *testing.B, markets []*market) {
	b.Helper()
	for _, m := range markets {
		m.turn(b, ordersATurn/10) // opens connections and loads the scripts
		clear(m.spent)
		m.sold = 0
	}
	for b.Loop() {
		for _, m := range markets {
			m.turn(b, ordersATurn)
		}
	}
	b.ReportMetric(0, "ns/op") // the time of all turns together means nothing
	for _, m := range markets {
		all, busiest := m.costs()
		b.ReportMetric(all, "all-µs/order:"+m.name)
		b.ReportMetric(busiest, "busiest-µs/order:"+m.name)
	}
}

// masters is a cluster, and a store on it.
type masters struct {
	*rig
	cluster *testkit.RedisCluster
	nodes   map[int]*redis.Client
}

func newMasters(b *testing.B, n int) *masters {
	b.Helper()
	c := &masters{nodes: map[int]*redis.Client{}, cluster: testkit.StartRedisClusterOf(b, n, 1, time.Minute,
		"--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0")}
	c.rig = rigOn(b,
		newClients(b, rediskit.Config{Topology: rediskit.Cluster, Addrs: c.cluster.Addrs(), PoolSize: 64}), "")
	for i := range n {
		c.nodes[i] = c.cluster.Nodes[i].Client()
	}
	return c
}

// market is a set of sales on a cluster; markets take turns in selling.
type market struct {
	*masters
	name   string
	call   int // requests per call of the script
	sales  []order.SaleRef
	saleOf func(user int64) int
	users  int64 // the last user who has bought
	on     []int // the masters that have the sales
	spent  map[string]time.Duration
	sold   int64
}

func (c *masters) market(name string, call int) *market {
	return &market{masters: c, name: name, call: call, spent: map[string]time.Duration{}}
}

// sell adds one sale.
func (m *market) sell(sale order.SaleRef) {
	m.t.Helper()
	m.sales = append(m.sales, sale)
	if master := m.cluster.Master(m.keys.orders(sale.Partition)); !slices.Contains(m.on, master) {
		m.on = append(m.on, master)
	}
	m.sale = sale
	m.open(1, m.hour(1<<40))
}

// turn sells that many orders, and adds up the masters' processor time meanwhile.
func (m *market) turn(b *testing.B, orders int64) {
	b.Helper()
	if b.Failed() {
		return
	}
	queues := make([][]gate.Request, len(m.sales))
	for range orders {
		m.users++
		sale := m.saleOf(m.users)
		queues[sale] = append(queues[sale], gate.Request{UserID: m.users, OrderID: m.users})
	}
	before := m.processors()
	m.sellAndAcknowledge(b, queues, orders)
	for addr, spent := range m.processors() {
		m.spent[addr] += spent - before[addr]
	}
	m.sold += orders
}

// sellAndAcknowledge sells to each sale's queue of buyers while one consumer per partition reads and acknowledges the
// orders.
func (m *market) sellAndAcknowledge(b *testing.B, queues [][]gate.Request, orders int64) {
	b.Helper()
	ctx, end := context.WithCancel(b.Context())
	defer end()
	var (
		all  sync.WaitGroup
		done atomic.Int64
	)
	failed := func(err error) { // ends the turn, which would otherwise wait for ever
		if ctx.Err() == nil {
			b.Error(err)
		}
		end()
	}
	for _, p := range m.partitions() {
		all.Go(func() {
			for ctx.Err() == nil {
				n, err := acknowledgeNext(ctx, m.Consumer(p, "bench"))
				switch {
				case err != nil:
					failed(err)
				case done.Add(n) >= orders:
					end()
				}
			}
		})
	}
	for i, queue := range queues {
		all.Go(func() {
			for requests := range slices.Chunk(queue, m.call) {
				got, err := m.Admit(ctx, gate.Batch{Sale: m.sales[i], MaxBacklog: 1 << 40, Requests: requests})
				if err == nil && slices.ContainsFunc(got.Results,
					func(r gate.Result) bool { return r.Outcome != gate.Accepted }) {
					err = fmt.Errorf("sale %d refuses: %v", m.sales[i].VoucherID, codes(got.Results))
				}
				if err != nil {
					failed(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// acknowledgeNext acknowledges the next entries, and returns how many orders they have.
func acknowledgeNext(ctx context.Context, c *Consumer) (int64, error) {
	entries, err := c.Next(ctx, 500, 50*time.Millisecond)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	keys := map[string]bool{}
	for _, e := range entries {
		keys[e.Key] = true
	}
	_, err = c.Acknowledge(ctx, slices.Collect(maps.Keys(keys)))
	return int64(len(entries)), err
}

func (m *market) partitions() (all []int) {
	for _, sale := range m.sales {
		if !slices.Contains(all, sale.Partition) {
			all = append(all, sale.Partition)
		}
	}
	return all
}

// processors returns the processor time of each of the market's masters.
func (m *market) processors() map[string]time.Duration {
	spent := map[string]time.Duration{}
	for _, i := range m.on {
		spent[m.cluster.Nodes[i].Addr] = processorTime(rediskit.Info(context.Background(), m.nodes[i], "cpu"))
	}
	return spent
}

// costs returns the processor time per order in µs, of all the market's masters together and of the busiest one.
func (m *market) costs() (all, busiest float64) {
	for _, spent := range m.spent {
		each := float64(spent.Nanoseconds()) / 1000 / float64(max(m.sold, 1))
		all, busiest = all+each, max(busiest, each)
	}
	return all, busiest
}

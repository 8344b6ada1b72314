package durability

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// level is how durable an acknowledged order is.
type level struct {
	name     string
	title    string // in the document
	flush    string // appendfsync
	replicas int    // how many must have the order
	safe     []string
}

// levels returns all levels; safe names the faults at which a level must lose nothing.
func levels() []level {
	return []level{
		{"everysec", "`everysec`", "everysec", 0, []string{"killed"}},
		{"always", "`always`", "always", 0, []string{"killed", "power cut"}},
		{"replica", "`always`, `SECKILL_REDIS_REPLICAS=1`", "always", 1, []string{"killed", "power cut", "failover"}},
	}
}

const (
	replicaDelay = 2 * time.Millisecond // from Redis to its replica, one way
	clients      = 8                    // batches under way
	batch        = 32                   // requests in each
)

// trial is one Redis with one replica, a sale on it, and buyers who buy until the fault.
type trial struct {
	*testing.T
	master, replica *testkit.RedisServer
	proxy           *testkit.Proxy // through which the replica replicates
	sale            order.SaleRef
	store           *redisstore.Store

	acknowledged [clients][]gate.Request // accepted, by client
	elapsed      time.Duration           // until the fault
}

// open starts the servers and opens a sale.
func open(t *testing.T, l level) *trial {
	t.Helper()
	tr := &trial{T: t, sale: order.SaleRef{VoucherID: 7}}
	tr.master = testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", l.flush, "--auto-aof-rewrite-percentage",
		"0", "--repl-diskless-sync-delay", "0")
	tr.replica = testkit.StartRedis(t)
	tr.proxy = testkit.NewProxy(t, tr.master.Addr)
	tr.proxy.Delay(replicaDelay)
	host, port, err := net.SplitHostPort(tr.proxy.Addr)
	tr.must(err)
	tr.must(tr.replica.Client().Do(t.Context(), "replicaof", host, port).Err())
	tr.store = tr.storeOn(tr.master.Addr, redisstore.Replicas{Count: l.replicas, Timeout: 500 * time.Millisecond})
	tr.must(tr.store.Begin(t.Context(), tr.sale, 1))
	now := time.Now()
	tr.must(tr.store.Publish(t.Context(), tr.sale, 1,
		order.Opening{Stock: 1 << 40, Begin: now.Add(-time.Hour), End: now.Add(time.Hour), Mode: order.SaleOpen}))
	tr.eventually("the replica to follow", func() bool {
		n, err := tr.master.Client().Do(t.Context(), "wait", 1, 100).Int()
		return err == nil && n == 1
	})
	tr.eventually("the sale to sell", func() bool {
		v, err := tr.admit(t.Context(), []gate.Request{{UserID: 1, OrderID: 1}})
		return err == nil && v.Results[0].Outcome == gate.Accepted
	})
	return tr
}

func (tr *trial) storeOn(addr string, r redisstore.Replicas) *redisstore.Store {
	tr.Helper()
	clients, err := rediskit.NewClients(rediskit.Config{
		Topology: rediskit.Single, Addrs: []string{addr}, PoolSize: 64, Readers: 1, Timeout: 2 * time.Second,
	})
	tr.must(err)
	tr.Cleanup(func() { tr.must(clients.Close()) })
	store, err := redisstore.New(clients, redisstore.Options{Word: "1/ledger", Replicas: r},
		slog.New(slog.DiscardHandler))
	tr.must(err)
	return store
}

func (tr *trial) admit(ctx context.Context, as []gate.Request) (gate.BatchResult, error) {
	results, err := tr.store.Admit(ctx, []gate.Batch{{Sale: tr.sale, Requests: as, MaxBacklog: 1 << 40}})
	if err != nil {
		return gate.BatchResult{}, err
	}
	return results[0], results[0].Err
}

// sell lets buyers buy until the fault, which takes Redis away after the given time, but not before somebody has
// bought.
func (tr *trial) sell(during time.Duration, fault func()) {
	var users, bought atomic.Int64
	var over atomic.Bool
	users.Store(1)
	var running sync.WaitGroup
	start := time.Now()
	for i := range clients {
		running.Go(func() {
			for {
				as := make([]gate.Request, batch)
				for j := range as {
					id := users.Add(1)
					as[j] = gate.Request{UserID: id, OrderID: id}
				}
				v, err := tr.admit(tr.Context(), as)
				switch {
				case err != nil && over.Load():
					return
				case err != nil:
					time.Sleep(10 * time.Millisecond) // because of the fault, or of a busy machine
				}
				for j, o := range v.Results {
					if o.Outcome == gate.Accepted {
						bought.Add(1)
						tr.acknowledged[i] = append(tr.acknowledged[i], as[j])
					}
				}
			}
		})
	}
	<-time.After(during)
	tr.eventually("a purchase", func() bool { return bought.Load() > 0 })
	tr.elapsed = time.Since(start)
	over.Store(true) // before the fault, after which a Redis may answer again
	fault()
	running.Wait()
}

// total returns how many orders were acknowledged.
func (tr *trial) total() (n int) {
	for _, requests := range tr.acknowledged {
		n += len(requests)
	}
	return n
}

// lost returns how many of them are missing in the Redis at the address.
func (tr *trial) lost(addr string) (n int) {
	tr.Helper()
	has := map[int64]bool{}
	for claim, err := range tr.storeOn(addr, redisstore.Replicas{}).Holders(tr.Context(), tr.sale) {
		tr.must(err)
		has[claim.UserID] = true
	}
	for _, requests := range tr.acknowledged {
		for _, a := range requests {
			if !has[a.UserID] {
				n++
			}
		}
	}
	return n
}

func (tr *trial) must(err error) {
	tr.Helper()
	if err != nil {
		tr.Fatal(err)
	}
}

func (tr *trial) eventually(what string, ok func() bool) {
	tr.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			tr.Fatalf("%s did not happen in time", what)
		}
	}
}

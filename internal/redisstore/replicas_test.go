package redisstore

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// flock is a rig whose orders two replicas must confirm, each behind its own proxy.
type flock struct {
	*rig
	t        *testing.T
	replicas []*testkit.RedisServer
	wires    []*testkit.Proxy
}

func newFlock(t *testing.T, timeout time.Duration) *flock {
	t.Helper()
	master := testkit.StartRedis(t)
	clients := newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{master.Addr}})
	f := &flock{t: t, rig: rigOn(t, clients, "")}
	for range 2 {
		wire, replica := testkit.NewProxy(t, master.Addr), testkit.StartRedis(t, "--repl-diskless-sync-delay", "0")
		f.wires, f.replicas = append(f.wires, wire), append(f.replicas, replica)
		host, port, err := net.SplitHostPort(wire.Addr)
		f.must(err)
		f.must(replica.Client().Do(f.ctx(), "replicaof", host, port).Err())
	}
	f.guard(Replicas{Count: 2, Timeout: timeout})
	testkit.Eventually(t, func() bool {
		n, err := f.commands.Do(f.ctx(), "wait", 2, 100).Int()
		return err == nil && n == 2
	})
	f.open(1, f.hour(50))
	return f
}

func (f *flock) guard(r Replicas) { f.options.Replicas = r }

// ask sends one request.
func (f *flock) ask(user int64) ([]string, error) {
	v, err := f.Admit(f.ctx(), gate.Batch{Sale: f.sale, Requests: requests(user, 1), MaxBacklog: 1000})
	return codes(v.Results), err
}

// unconfirmed checks that a call took effect but returned errUnconfirmed.
func (f *flock) unconfirmed(user int64) {
	f.t.Helper()
	got, err := f.ask(user)
	if !errors.Is(err, errUnconfirmed) || errors.Is(err, order.ErrUnavailable) || len(got) > 0 {
		f.t.Errorf("user %d: %v, %v, want errUnconfirmed", user, got, err)
	}
	if f.holders()[user] == 0 {
		f.t.Errorf("user %d is no holder", user)
	}
}

// confirmed checks that a user eventually gets their order id, and that every replica has the order by then.
func (f *flock) confirmed(user int64) {
	f.t.Helper()
	var last string
	defer func() {
		if f.t.Failed() {
			f.t.Logf("user %d was answered %s", user, last)
		}
	}()
	testkit.Eventually(f.t, func() bool {
		got, err := f.ask(user)
		last = fmt.Sprintf("%v, %v", got, err)
		return err == nil && slices.Equal(got, []string{"0"})
	})
	for i, replica := range f.replicas {
		has, err := replica.Client().HExists(f.ctx(), f.keys.buyers(f.sale), fmt.Sprint(user)).Result()
		f.must(err)
		if !has {
			f.t.Errorf("replica %d does not have the order of user %d", i, user)
		}
	}
}

// TestReplicasConfirm: no buyer gets the id of an order that too few replicas have; once they have it, asking again
// returns it.
func TestReplicasConfirm(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct{ fail, heal func(*flock) }{
		"one stopped": {func(f *flock) { f.replicas[1].Pause() }, func(f *flock) { f.replicas[1].Resume() }},
		"one slow": {
			func(f *flock) { f.wires[0].Delay(250 * time.Millisecond) }, func(f *flock) { f.wires[0].Heal() },
		},
		"one cut off": {func(f *flock) { f.wires[0].Cut() }, func(f *flock) { f.wires[0].Heal() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlock(t, 100*time.Millisecond)
			f.confirmed(1)
			f.must(f.commands.ScriptFlush(f.ctx()).Err())
			f.confirmed(2)

			fault.fail(f)
			f.unconfirmed(3)
			f.unconfirmed(3) // the identical batch writes nothing, and still is not confirmed
			f.must(f.commands.ScriptFlush(f.ctx()).Err())
			f.unconfirmed(4)
			// A refusal promises nothing.
			v, err := f.Admit(f.ctx(),
				gate.Batch{Sale: order.SaleRef{VoucherID: 99}, Requests: requests(1, 1), MaxBacklog: 1000})
			f.must(err)
			equal(t, []string{"2"}, codes(v.Results))
			// The user already has the order, and learns of it only once it is safe.
			_, err = f.Admit(f.ctx(),
				gate.Batch{Sale: f.sale, Requests: []gate.Request{{UserID: 3, OrderID: 7}}, MaxBacklog: 1000})
			if !errors.Is(err, errUnconfirmed) {
				t.Errorf("ALREADY_BOUGHT of an order that no replica may have: %v", err)
			}

			fault.heal(f)
			f.confirmed(3)
			f.confirmed(4)
			f.confirmed(5)
			equal(t, 5, len(f.stream()))
		})
	}
}

// TestReplicasConfirmACall: one question follows a call, and its answer holds for every sale.
func TestReplicasConfirmACall(t *testing.T) {
	t.Parallel()
	f := newFlock(t, 100*time.Millisecond)
	batches := f.sales(3, 5)
	f.replicas[0].Kill()
	f.must(f.commands.ScriptFlush(f.ctx()).Err()) // so that the script is called, and the replicas asked, twice
	results, err := f.Store.Admit(f.patient(), batches)
	f.must(err)
	for i, v := range results {
		if !errors.Is(v.Err, errUnconfirmed) {
			t.Errorf("batch %d: %v, want errUnconfirmed", i, v.Err)
		}
	}
	asked, err := f.commands.Get(f.ctx(), f.keys.confirmed()).Int()
	f.must(err)
	equal(t, 2, asked)
	equal(t, 1, len(f.holders()))
}

// TestReplicasRefused: New refuses to wait for replicas of a Redis that has none.
func TestReplicasRefused(t *testing.T) {
	t.Parallel()
	clients := newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{"127.0.0.1:1"}})
	if s, err := New(clients, Options{Word: testWord, Alone: true, Replicas: Replicas{Count: 2, Timeout: time.Second}},
		nil); err == nil {
		t.Errorf("embedded: a store %v", s.options)
	}
}

// TestReplicasConfirmOnACluster: the replica of the sale's own master is asked, even after the slot has moved and after
// the replica has replaced its master; other replicas do not count.
func TestReplicasConfirmOnACluster(t *testing.T) {
	t.Parallel()
	// No master may be replaced unless the test does it, however busy the machine.
	cluster := testkit.StartRedisClusterOf(t, 3, 1, 15*time.Second)
	clients := newClients(t, rediskit.Config{Topology: rediskit.Cluster, Addrs: cluster.Addrs(), Timeout: time.Second})
	f := &flock{t: t, rig: rigOn(t, clients, "")}
	f.guard(Replicas{Count: 1, Timeout: 200 * time.Millisecond})
	f.open(1, f.hour(50))
	stream := f.keys.orders(0)
	replica := func() *testkit.RedisServer { return cluster.Nodes[cluster.Replica(cluster.Master(stream))] }

	f.confirmed(1)
	own := replica()
	own.Pause()
	f.unconfirmed(2)
	f.unconfirmed(2) // the identical batch writes nothing, and still is not confirmed
	own.Resume()
	f.confirmed(2)

	// Now another server has the sale, which stops until it is rebuilt there.
	cluster.MoveSlot(stream, (cluster.Master(stream)+1)%3, 0)
	f.open(2, f.hour(50))
	f.confirmed(3)
	own = replica()
	own.Pause()
	f.unconfirmed(4)
	own.Resume()
	f.confirmed(4)

	cluster.Failover(cluster.Replica(cluster.Master(stream)))
	f.open(3, f.hour(50))
	f.confirmed(5)
	equal(t, 5, len(f.stream()))
}

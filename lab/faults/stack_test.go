package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// The configuration of the cluster's nodes, the same as in deploy/cluster/compose.yml.
const (
	redisConf  = "../../deploy/cluster/redis.conf"
	galeraConf = "../../deploy/cluster/galera.cnf"
)

// envCluster chooses the scenarios of TestCluster: "all", or the quick ones.
const envCluster = "SECKILL_TEST_CLUSTER"

// envPartitions is how many partitions the instances of TestCluster work in; the sale is in the last one. Default: one.
const envPartitions = "SECKILL_TEST_PARTITIONS"

// stack is the stores that scenarios use one after the other: a Redis Cluster of three masters with a replica each, and
// a Galera cluster of three writable nodes.
type stack struct {
	redis  *testkit.RedisCluster
	galera *testkit.GaleraCluster
	sites  int // how many scenarios have used it
}

// patientTimeout is nodeTimeout while no node is meant to die, so that a busy machine has none replaced.
const patientTimeout = 15 * time.Second

// partitionTries is how often adding a partition is tried.
const partitionTries = 5

// startStack starts all nodes.
func startStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{}
	s.redis = testkit.StartRedisClusterOf(t, 3, 1, patientTimeout, asShipped(t)...)
	s.galera = testkit.StartGalera(t, 3, galeraConf)
	t.Logf("Redis %s, MariaDB %s", s.redis.Nodes[0].Version, s.galera.Version)
	return s
}

// asShipped returns the arguments of nodes that are configured as those of deploy/cluster, and patient.
func asShipped(tb testing.TB) []string {
	tb.Helper()
	conf, err := filepath.Abs(redisConf)
	if err != nil {
		tb.Fatal(err)
	}
	return []string{"--include", conf, "--cluster-node-timeout", fmt.Sprint(patientTimeout.Milliseconds())}
}

// clusterScenario is a scenario on the stack. When moveAt purchases are accepted, which is when the fault comes, a
// partition is added, and the sale's slot begins to move to another master. 0: neither.
type clusterScenario struct {
	scenario
	moveAt int
}

// onCluster returns the scenarios of make -C lab cluster, in order. The last one leaves dead nodes behind.
func onCluster() []clusterScenario {
	moved := func(number, fault, aim string, long bool, do func(*run), moveAt int) clusterScenario {
		return clusterScenario{
			scenario{number + "-cluster", fault + "; a partition is added, its slot moves", aim, long, do}, moveAt,
		}
	}
	return []clusterScenario{
		moved("F01", "5,000 users at once on 100 units", "all", false, faultless, 20),
		moved("F02", "one user asks 400 times", "I2 I6", true, repeatedClicks, 1),
		moved("F03", "the script's answer is lost", "I1 I2 I6 I12", false, admissionAnswersLost, 5),
		moved("F04", "buyers hang up after they were accepted", "I3 I6", true, buyersHangUp, 30),
		moved("F05", "SIGKILL after the script, before its answer", "I3 I5", true, killedAfterTheScript, 400),
		moved("F06", "SIGKILL after the read, before the INSERT", "I3 I8", true, killedAt(batchSent()), 300),
		moved("F07", "SIGKILL after the INSERT, before the COMMIT", "I3 I7", false, killedAt(commitSent()), 300),
		moved("F08", "SIGKILL after the COMMIT, before the XACK", "I2 I5 I7", true, killedAt(commitAnswered()), 300),
		{scenario{"F45-partition", "the Redis master of one of two sales' partitions stands still; a partition is " +
			"added meanwhile", "I1 I2 I3 I6", false, partitionStopped}, 0},
		{scenario{"F43-nodes", "the sale's Redis master and a Galera node killed, and never started again", "I1 I2 " +
			"I3 I6", true, nodesDead}, 0},
	}
}

// TestCluster sells on clusters: three instances, each at its own Galera node, and one Redis Cluster. Its stores are
// started once; each scenario has its own keys, schema and instances.
func TestCluster(t *testing.T) {
	asked := onCluster()
	if os.Getenv(envCluster) != "all" {
		asked = slices.DeleteFunc(asked, func(sc clusterScenario) bool { return sc.long })
	}
	seed, stores, results := seedOf(t), startStack(t), results{}
	partitions := numberIn(t, envPartitions)
	for _, sc := range asked {
		t.Run(sc.number, func(t *testing.T) {
			t.Logf("%s\n    again: make -C lab cluster RUN=%s SEED=%d PARTITIONS=%d",
				sc.fault, sc.number, seed, partitions)
			r := newRun(t, seed)
			r.stack, r.moveAt, r.partitions = stores, sc.moveAt, partitions
			defer func() { results.add(sc.scenario, r.result, !t.Failed()) }()
			sc.run(r)
			r.sellInAdded()
		})
	}
	results.write(t)
}

// numberIn returns the number in an environment variable; 1 if it is empty.
func numberIn(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), "1"))
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, allowed are numbers from 1", name, os.Getenv(name))
	}
	return n
}

// openStack is open, on the stack: each instance behind a proxy to all nodes of the Redis Cluster, and one to its
// Galera node.
func (r *run) openStack(on deployment) {
	r.Helper()
	on = on.withDefaults()
	r.stack.sites++
	r.cluster, r.galera = r.stack.redis.For(r), r.stack.galera
	r.cluster.Empty()
	r.mysql = r.galera.Nodes[0]
	schema := fmt.Sprintf("seckill_%d", r.stack.sites)
	r.site = box.EmptySiteOn(r, redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: r.cluster.Addrs(), ClusterStateReloadInterval: time.Second,
	}), "", r.mysql.DSN(schema))
	for i := range on.instances {
		node := r.galera.Nodes[i]
		p := proxyPair{testkit.NewClusterProxy(r, r.cluster.Addrs()), testkit.NewProxy(r, node.Addr)}
		r.proxies = append(r.proxies, p)
		r.site.Add(r, strings.Join(p.redis.Addrs(), ","), throughProxy(r, node.MariaDB.DSN(schema), p.mysql),
			map[string]string{"SECKILL_REDIS_MODE": "cluster", "SECKILL_PARTITIONS": fmt.Sprint(r.partitions)})
	}
	r.partition = r.awayFromFirst()
	r.site.Redis.Partition = r.partition
	r.start(on)
	if r.moveAt > 0 {
		r.moveMeanwhile()
	}
}

// awayFromFirst returns the last partition on another master than partition 0's; 0 if there is none.
func (r *run) awayFromFirst() int {
	r.Helper()
	first := r.cluster.Master(r.site.Redis.StreamKey())
	for n := r.partitions - 1; n > 0; n-- {
		r.site.Redis.Partition = n
		if r.cluster.Master(r.site.Redis.StreamKey()) != first {
			return n
		}
	}
	return 0
}

// moveMeanwhile adds a partition when moveAt purchases are accepted, and moves the sale's slot to another master, key
// by key.
func (r *run) moveMeanwhile() {
	r.Helper()
	r.rebuilt, r.rebuilds = true, plannedRebuilds
	key := r.site.Redis.StreamKey()
	from := r.cluster.Master(key)
	others := slices.DeleteFunc(r.cluster.Masters(), func(i int) bool { return i == from })
	if len(others) == 0 {
		r.Fatalf("node %d is the only master that answers", from)
	}
	move := r.cluster.Mover(key, others[r.rand.IntN(len(others))], 200*time.Millisecond)
	moved, done := make(chan struct{}), sync.WaitGroup{}
	r.moved = moved
	r.buyers.Record.After(r.moveAt, func() {
		done.Go(func() {
			defer close(moved)
			if err := errors.Join(r.addPartition(), move()); err != nil {
				r.Errorf("as the fault came: %v", err)
			}
		})
	})
	r.Cleanup(done.Wait) // the test's context has ended by then
}

// awaitMoved waits until the sale's slot has moved, if it does. Then the recovery time starts again.
func (r *run) awaitMoved() {
	r.Helper()
	if r.moved != nil {
		r.await("the end of the slot's move", r.moved)
		r.faultOver = time.Now()
	}
}

// addPartition adds a partition, as an instance does that is started with one more. A COMMIT at another node may come
// first (1213), or the answer may be lost, so it is repeated; still only one is added.
func (r *run) addPartition() (err error) {
	added := max(r.partitions, 1)
	for range partitionTries {
		_, err = r.site.Ledger.DB.ExecContext(r.Context(),
			"INSERT IGNORE INTO tb_setting VALUES (?, 'open', UTC_TIMESTAMP(3))", fmt.Sprintf("partition_%d", added))
		if err == nil {
			r.added = added
			return nil
		}
	}
	return fmt.Errorf("adding partition %d: %w", added, err)
}

// sellInAdded sells a few units in the added partition, if there is one, at all instances, including those started
// since.
func (r *run) sellInAdded() {
	r.Helper()
	if r.added == 0 {
		return
	}
	const units = 20
	buyers := r.site.Buyers(r.createSale(units, map[string]any{"partition": r.added}))
	buyers.BuyAll(r.Context(), 4, r.newUsers(units+4))
	if n := len(buyers.Record.Winners()); n != units { // some may have asked again
		r.Errorf("%d of %d units were sold in the partition that was added; answers %v",
			n, units, buyers.Record.Counts())
	}
	box.Eventually(r, "rows of the orders in the partition that was added", func() error {
		rows, err := r.site.Ledger.Orders(r.Context(), buyers.Voucher)
		if err == nil && len(rows) != units {
			err = fmt.Errorf("%d rows, want %d", len(rows), units)
		}
		return err
	})
}

// partitionStopped suspends the master of partition 0, which also has the data that belongs to no sale. A sale in a
// partition on another master goes on: its buyers are accepted, recorded and told their orders, and its stats are
// shown. A sale in partition 0 goes on once its master does, and loses nothing. Meanwhile another partition is added.
func partitionStopped(r *run) {
	r.partitions = max(r.partitions, 4)
	r.open(deployment{})
	r.nodeTimeout(10 * time.Minute) // so that no replica takes over
	defer r.nodeTimeout(patientTimeout)
	beside := r.saleBeside(2000)
	r.load(8, 20*time.Millisecond)
	beside.load(4, 50*time.Millisecond)
	r.awaitAccepted(100)
	r.await("a purchase in partition 0", beside.buyers.Record.Reached(20))
	stopped := r.cluster.Nodes[beside.hotNode()]
	stopped.Pause()
	at := time.Now()
	r.awaitAccepted(1)
	r.Logf("the next purchase was accepted %v after the node stood still", time.Since(at).Round(time.Millisecond))
	recorded, before := r.recorded(), beside.buyers.Record.Accepted()
	r.awaitAccepted(300)
	r.Logf("300 more by %v", time.Since(at).Round(time.Millisecond))
	box.Eventually(r, "orders being recorded", func() error {
		if now := r.recorded(); now < recorded+200 {
			return fmt.Errorf("%d orders are recorded, %d were", now, recorded)
		}
		return nil
	})
	r.expectBesideHung(r.buyers.Voucher, beside.buyers.Voucher)
	if n := beside.buyers.Record.Accepted() - before; n > 4 { // their answers were on their way
		r.Errorf("%d purchases in partition 0 were accepted while its master stood still", n)
	}
	r.must(r.addPartition())
	stopped.Resume()
	r.faultEnded()
	beside.faultEnded()
	r.await("a purchase in partition 0 again", beside.buyers.Record.Reached(before+20))
	r.awaitAccepted(100)
	r.finish()
	beside.faultOver = time.Now() // ended long ago: it was not checked meanwhile
	beside.finish()
}

// saleBeside returns a run of the same scenario with its own sale in partition 0.
func (r *run) saleBeside(units int64) *run {
	r.Helper()
	site, redis := *r.site, *r.site.Redis
	site.Redis, redis.Partition = &redis, 0
	beside := &run{TB: r.TB, rand: r.rand, within: r.within, site: &site, cluster: r.cluster, units: units}
	beside.users.Store(10_000_000) // different from the scenario's users
	beside.buyers = site.Buyers(r.createSale(units, map[string]any{"partition": 0}))
	var err error
	beside.opened, err = site.Ledger.Epoch(r.Context(), beside.buyers.Voucher)
	r.must(err)
	return beside
}

// expectBesideHung expects that every instance reports itself degraded and shows the stats of one sale, while the stats
// of a sale whose node hangs are refused in time.
func (r *run) expectBesideHung(sale, hung int64) {
	r.Helper()
	for i, srv := range r.site.Servers {
		box.Eventually(r, fmt.Sprintf("instance %d that is degraded", i), func() error {
			a, err := r.site.Client.Do(r.Context(), box.Request{Method: http.MethodGet, URL: srv.URL("/readyz")})
			if err == nil && (a.StatusCode != http.StatusOK || !strings.Contains(string(a.Body), "degraded")) {
				err = fmt.Errorf("it says %d %s", a.StatusCode, a.Body)
			}
			return err
		})
		for id, want := range map[int64]int{sale: http.StatusOK, hung: http.StatusServiceUnavailable} {
			box.Eventually(r, fmt.Sprintf("instance %d that answers %d for the stats of sale %d",
				i, want, id), func() error {
				a, err := r.site.Client.Do(r.Context(), box.Request{
					Method: http.MethodHead, URL: srv.URL(fmt.Sprintf("/admin/voucher/%d/live", id)),
					Token: box.AdminToken(),
				})
				if err == nil && a.StatusCode != want {
					err = fmt.Errorf("it says %d", a.StatusCode)
				}
				return err
			})
		}
	}
}

// nodeTimeout sets how long the cluster's nodes may be silent before they count as dead. Dead nodes cannot be set.
func (r *run) nodeTimeout(d time.Duration, dead ...int) {
	r.Helper()
	for i, n := range r.cluster.Nodes {
		if slices.Contains(dead, i) {
			continue
		}
		client := n.Client()
		box.Eventually(r, "another node timeout", func() error {
			return client.ConfigSet(context.WithoutCancel(r.Context()), "cluster-node-timeout",
				fmt.Sprint(d.Milliseconds())).Err()
		})
	}
}

// recorded counts the orders of the sale in the ledger.
func (r *run) recorded() (n int) {
	r.Helper()
	r.must(r.site.Ledger.DB.QueryRowContext(r.Context(), "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ?",
		r.buyers.Voucher).Scan(&n))
	return n
}

// nodesDead kills the sale's Redis master and an instance's Galera node for good. All instances go on, even the one
// without its database: it accepts orders, and the others record them.
func nodesDead(r *run) {
	r.rebuilt, r.loss, r.rebuilds = true, true, plannedRebuilds
	r.open(deployment{})
	r.load(32, 40*time.Millisecond)
	r.awaitAccepted(300)
	hot := r.hotNode()
	replica := r.cluster.Nodes[r.cluster.Replica(hot)].Client()
	r.galera.Nodes[1+r.rand.IntN(2)].Kill()
	r.cluster.Nodes[hot].Kill()
	r.nodeTimeout(nodeTimeout, hot) // only now: on a busy machine other masters would be replaced
	key := r.site.Redis.StreamKey() + ":probe"
	box.Eventually(r, "a replica that takes writes", func() error { return replica.Set(r.Context(), key, 1, 0).Err() })
	r.awaitSelling()
	r.finish()
}

package faults

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// Scenarios on a Redis Cluster of three masters with a replica each. There are no proxies, because nodes announce their
// own addresses.

const (
	// nodeTimeout is how long a master may be silent before it is replaced.
	nodeTimeout = 2 * time.Second
	// shippedTimeout is the same of deploy/cluster/redis.conf.
	shippedTimeout = 5 * time.Second
	// longestGap is how much longer than Redis itself the service may be unable to sell. It needs less than two seconds
	// on an idle machine; the rest is for busy ones. A client that nobody tells of the change needs a minute.
	longestGap = 30 * time.Second
	// plannedRebuilds is how often a planned change of masters may have a sale rebuilt: once because another server
	// opened it, and once more if that was noticed before the change was over.
	plannedRebuilds = 2
)

// openCluster is open, on a Redis Cluster whose masters have one replica each.
func (r *run) openCluster(on deployment) { r.openClusterOf(1, on) }

func (r *run) openClusterOf(replicas int, on deployment) {
	r.Helper()
	on = on.withDefaults()
	r.cluster = testkit.StartRedisClusterOf(r, 3, replicas, patientTimeout, on.redis...)
	r.openOn(on, redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: r.cluster.Addrs(), ClusterStateReloadInterval: time.Second,
	}), map[string]string{"SECKILL_REDIS_MODE": "cluster", "SECKILL_REDIS_ADDRS": strings.Join(r.cluster.Addrs(), ",")})
}

// openOn starts a database, instances that connect to Redis with these settings, and a sale.
func (r *run) openOn(on deployment, rdb redis.UniversalClient, settings map[string]string) {
	r.Helper()
	r.mysql = testkit.StartMariaDB(r, on.mysql...)
	dsn := r.mysql.DSN("seckill")
	r.site = box.EmptySiteOn(r, rdb, "", dsn)
	for range on.instances {
		r.site.Add(r, "", dsn, merged(settings, on.settings))
	}
	r.start(on)
}

// merged returns the union of both settings.
func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// hotNode returns the cluster node that has the sale.
func (r *run) hotNode() int { return r.cluster.Master(r.site.Redis.StreamKey()) }

// awaitSelling waits until purchases are accepted again, and logs how long that took.
func (r *run) awaitSelling() {
	r.Helper()
	start := time.Now()
	r.faultEnded()
	r.awaitAccepted(20)
	gap := time.Since(start)
	r.Logf("sold again %v after Redis took writes", gap.Round(time.Millisecond))
	if gap > longestGap {
		r.Errorf("sold again %v after Redis took writes, want %v at most", gap, longestGap)
	}
}

// clusterMasterDead kills the sale's master for good. Its replica takes over; instances requeue from memory the orders
// that it had not received.
func clusterMasterDead(r *run) {
	r.rebuilt, r.loss, r.rebuilds = true, true, plannedRebuilds
	r.openCluster(deployment{units: 16_000})
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	r.clusterMasterKilled()
	r.awaitSelling()
	r.finish()
}

// clusterMasterKilled kills the sale's master, and returns once its replica takes writes.
func (r *run) clusterMasterKilled() {
	r.Helper()
	r.rebuilt, r.loss = true, true
	hot := r.hotNode()
	replica := r.cluster.Nodes[r.cluster.Replica(hot)].Client()
	killed := time.Now()
	r.cluster.Nodes[hot].Kill()
	r.nodeTimeout(nodeTimeout, hot) // only now: on a busy machine other masters would be replaced
	key := r.site.Redis.StreamKey() + ":probe"
	box.Eventually(r, "a replica that takes writes", func() error { return replica.Set(r.Context(), key, 1, 0).Err() })
	r.Logf("Redis takes writes %v after the kill", time.Since(killed).Round(time.Millisecond))
	r.nodeTimeout(patientTimeout, hot)
}

// clusterMastersDead kills the sale's master and, as soon as units are sold again, the replica that took over, on nodes
// configured as those of deploy/cluster. If a replica must have each acceptance, the last of the three sells nothing
// alone: then the first comes back once it has been replaced twice, and otherwise once all is over.
func clusterMastersDead(kept bool) func(*run) {
	return func(r *run) {
		on := deployment{units: 16_000, redis: asShipped(r)}
		if kept {
			on.settings = map[string]string{"SECKILL_REDIS_REPLICAS": "1"}
		}
		r.rebuilt, r.loss, r.rebuilds = true, !kept, 2*plannedRebuilds
		r.openClusterOf(2, on)
		const clients = 32
		r.load(clients, 20*time.Millisecond)
		r.awaitAccepted(300)
		var dead []int
		for range 2 {
			hot, killed := r.hotNode(), time.Now()
			r.cluster.Nodes[hot].Kill()
			dead = append(dead, hot)
			r.nodeTimeout(shippedTimeout, dead...) // only now: on a busy machine other masters would be replaced
			box.Eventually(r, "another master", func() error {
				if r.hotNode() == hot {
					return fmt.Errorf("node %d is still the master", hot)
				}
				return nil
			})
			if kept && len(dead) == 2 {
				r.Logf("replaced after %v", time.Since(killed).Round(time.Millisecond))
				r.cluster.Nodes[dead[0]].Start()
				dead = dead[1:]
			}
			r.awaitAccepted(clients + 1) // more than were on their way
			r.Logf("%v without sales", time.Since(killed).Round(time.Millisecond))
		}
		r.nodeTimeout(patientTimeout, dead...)
		for _, i := range dead {
			r.cluster.Nodes[i].Start()
		}
		r.awaitSelling()
		r.finish()
		r.Logf("%d acceptances were lost", r.result.lost)
	}
}

// clusterFailover makes the replica of the sale's master take over, as before maintenance: nothing is lost.
func clusterFailover(r *run) {
	r.rebuilt, r.rebuilds = true, plannedRebuilds
	r.openCluster(deployment{units: 16_000})
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	r.cluster.Failover(r.cluster.Replica(r.hotNode()))
	r.awaitSelling()
	r.finish()
}

// clusterSlotMoved adds a node to the cluster and moves the sale's slot to it, key by key, under load.
func clusterSlotMoved(r *run) {
	r.rebuilt, r.rebuilds = true, plannedRebuilds
	r.openCluster(deployment{units: 16_000})
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	r.cluster.AddNode()
	r.awaitAccepted(50)
	r.cluster.MoveSlot(r.site.Redis.StreamKey(), len(r.cluster.Nodes)-1, 300*time.Millisecond)
	r.awaitSelling()
	r.finish()
}

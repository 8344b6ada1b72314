package faults

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// Scenarios on a Redis master with replicas, watched by Sentinels.

// splitFor is how long the old master goes on serving an instance after it was cut off.
const splitFor = 12 * time.Second

// openSentinels is open, on a master with a replica and three Sentinels.
func (r *run) openSentinels(on deployment) {
	r.Helper()
	on = on.withDefaults()
	r.sentinels = testkit.StartRedisSentinels(r, patientTimeout, on.redis...)
	r.openOn(on, r.sentinelClient(r.sentinels), sentinelSettings(r.sentinels))
}

func (r *run) sentinelClient(s *testkit.RedisSentinels) redis.UniversalClient {
	return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs()})
}

func sentinelSettings(s *testkit.RedisSentinels) map[string]string {
	return map[string]string{
		"SECKILL_REDIS_MODE": "sentinel", "SECKILL_REDIS_MASTER": s.Name,
		"SECKILL_REDIS_ADDRS": strings.Join(s.Addrs(), ","),
	}
}

// openSplitSentinels is open, on a master with two replicas and three Sentinels, which all reach the master through one
// link. So do all instances but the last one, which always uses this master.
func (r *run) openSplitSentinels(on deployment) *testkit.RedisSentinels {
	r.Helper()
	on = on.withDefaults()
	s := testkit.StartLinkedRedisSentinels(r, 2, patientTimeout, on.redis...)
	r.mysql = testkit.StartMariaDB(r, on.mysql...)
	dsn := r.mysql.DSN("seckill")
	r.site = box.EmptySiteOn(r, r.sentinelClient(s), "", dsn)
	for range on.instances - 1 {
		r.site.Add(r, "", dsn, merged(sentinelSettings(s), on.settings))
	}
	r.site.Add(r, s.Nodes[0].Addr, dsn, on.settings)
	r.start(on)
	return s
}

// sentinelFailover makes the Sentinels replace the master by its replica. The old master takes writes until it is told,
// so instances that still reach it may accept orders there: those are lost with it, and requeued from memory.
func sentinelFailover(r *run) {
	r.rebuilt, r.loss, r.rebuilds = true, true, plannedRebuilds
	r.openSentinels(deployment{units: 16_000})
	s := r.sentinels
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	s.Failover()
	r.awaitSelling()
	r.finish()
}

// sentinelMasterDead kills the master for good. Orders that its replica had not received are requeued from memory.
func sentinelMasterDead(r *run) {
	r.rebuilt, r.loss, r.rebuilds = true, true, plannedRebuilds
	r.openSentinels(deployment{units: 16_000})
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	r.sentinelMasterKilled()
	r.awaitSelling()
	r.finish()
}

// sentinelMasterKilled kills the master, and returns once a replica has replaced it.
func (r *run) sentinelMasterKilled() {
	r.Helper()
	r.rebuilt, r.loss = true, true
	r.sentinels.Nodes[0].Kill()
	r.sentinels.DownAfter(nodeTimeout) // only now: on a busy machine a live master would be replaced
	r.sentinels.AwaitReplaced()
	r.sentinels.DownAfter(patientTimeout)
}

// sentinelMasterStopped suspends the master until its replica has replaced it and sold. Then the old master continues,
// believes that it is still the master until it is told, and becomes a replica.
func sentinelMasterStopped(r *run) {
	r.rebuilt, r.loss, r.rebuilds = true, true, plannedRebuilds
	r.openSentinels(deployment{units: 16_000})
	s := r.sentinels
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	s.Nodes[0].Pause()
	s.DownAfter(nodeTimeout)
	s.AwaitReplaced()
	s.DownAfter(patientTimeout)
	r.awaitAccepted(300)
	s.Nodes[0].Resume()
	old := s.Nodes[0].Client()
	box.Eventually(r, "the old master following the new one", func() error {
		info, err := old.Info(r.Context(), "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = fmt.Errorf("it says %s", info)
		}
		return err
	})
	r.awaitSelling()
	r.finish()
}

// sentinelReplicaLags makes a replica take over that has received nothing for hundreds of orders. Instances remember
// them.
func sentinelReplicaLags(r *run) {
	r.rebuilt, r.loss, r.rebuilds = true, true, plannedRebuilds
	r.openSentinels(deployment{units: 16_000})
	s := r.sentinels
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(300)
	master, replica := s.Nodes[0], s.Nodes[1]
	replica.Pause()
	// Otherwise it would still read data that has arrived.
	r.must(master.Client().ClientKillByFilter(r.Context(), "TYPE", "replica").Err())
	seq := r.sequenceAt(master)
	r.awaitAccepted(300)
	master.Kill()
	replica.Resume()
	if has := r.sequenceAt(replica); has > seq {
		r.Fatalf("the replica has %d acceptances, the master had %d when they parted: it does not lag", has, seq)
	}
	s.DownAfter(nodeTimeout)
	s.AwaitReplaced()
	s.DownAfter(patientTimeout)
	r.awaitSelling()
	r.finish()
}

// sequenceAt returns how many acceptances of the sale a node has.
func (r *run) sequenceAt(n *testkit.RedisServer) int64 {
	r.Helper()
	seq, err := n.Client().HGet(r.Context(), r.site.Redis.SaleKey(r.buyers.Voucher), "seq").Int64()
	r.must(err)
	return seq
}

// sentinelSplit cuts the master off from its replicas, the Sentinels and two instances, but not from the third; all
// reach the ledger. Then the old side dies, with all its data. With confirm, each acceptance waits for a replica, and
// the old side tells nobody that they have an order.
func sentinelSplit(confirm bool) func(*run) {
	return func(r *run) {
		r.rebuilt, r.loss = true, true
		settings := map[string]string{}
		if confirm {
			settings["SECKILL_REDIS_REPLICAS"], settings["SECKILL_REDIS_REPLICA_TIMEOUT"] = "1", "200ms"
		}
		s := r.openSplitSentinels(deployment{units: 20_000, settings: settings})
		r.load(24, 40*time.Millisecond)
		r.awaitAccepted(300)
		s.Link.Blackhole()
		cut := time.Now()
		s.DownAfter(nodeTimeout)
		s.AwaitReplaced()
		s.DownAfter(patientTimeout) // otherwise a busy machine would replace the new master by the other replica
		r.awaitAccepted(20)
		<-time.After(time.Until(cut.Add(splitFor)))
		last := r.site.Servers[len(r.site.Servers)-1]
		epoch, err := r.site.Ledger.Epoch(r.Context(), r.buyers.Voucher)
		r.must(err)
		r.Logf("rebuilt %d times in %v", epoch-1, time.Since(cut).Round(time.Second))
		for _, srv := range r.site.Servers {
			told, asked := r.toldBy(srv.Name, cut)
			r.Logf("%s has answered %d purchases, %d of them that the buyer has an order now", srv.Name, asked, told)
			if srv == last && asked == 0 {
				r.Error("nobody asked on the old side")
			}
			if srv == last && confirm && told > 0 {
				r.Errorf("%d buyers were told on the old side that they have an order, and no replica had it", told)
			}
		}
		r.must(last.Kill())
		s.Nodes[0].Kill()
		r.awaitSelling()
		e := r.finish()
		if confirm {
			r.expectEachHasOrder(e)
		}
	}
}

// expectEachHasOrder expects that every buyer who was told of an order has a live one: that order, or another that the
// old side had accepted for them without telling them, and that was recorded first.
func (r *run) expectEachHasOrder(e checker.Evidence) {
	r.Helper()
	live := map[int64]bool{}
	for _, o := range e.Views[0].Orders {
		live[o.User] = live[o.User] || o.Status.Live()
	}
	for user, order := range r.buyers.Record.Winners() {
		if !live[user] {
			r.Errorf("user %d was told order %d, and has none", user, order)
		}
	}
}

// toldBy counts the answers of a server since then, and those that said that the buyer has an order.
func (r *run) toldBy(server string, since time.Time) (told, all int) {
	for _, a := range r.buyers.Record.Answers() {
		if a.Server == server && a.Sent.After(since) {
			all++
			if a.Outcome == checker.Accepted {
				told++
			}
		}
	}
	return told, all
}

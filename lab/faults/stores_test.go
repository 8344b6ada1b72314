package faults

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/internal/testkit/server"
	"seckill/lab/rig"
	"seckill/test/box"
)

// envStores chooses the stores of TestStores: "all", or the one that takes seconds.
const envStores = "SECKILL_TEST_STORES"

// kind is a kind of stores that the service runs on.
type kind struct {
	name         string
	long         bool   // not in the quick selection
	redis, mysql string // the programs, if not the system's
	open         func(*run, deployment)
	kill         func(*run) // kills a server of the stores, and returns when another one or the same works in its place
}

func kinds() []kind {
	const redis8, valkey = "redis8", "valkey"
	return []kind{
		{"redis", false, "", "", (*run).open, (*run).redisKilled},
		{"redis8", true, redis8, "", (*run).open, (*run).redisKilled},
		{"valkey", true, valkey, "", (*run).open, (*run).redisKilled},
		{"mariadb", true, "", "", (*run).open, sellingOn},
		{"mariadb11", true, "", "mariadb11", (*run).open, sellingOn},
		{"mysql9", true, "", "mysql9", (*run).open, sellingOn},
		{"galera", true, "", "", (*run).openGalera, (*run).galeraNodeKilled},
		{"sentinel", true, "", "", (*run).openSentinels, (*run).sentinelMasterKilled},
		{"cluster", true, "", "", (*run).openCluster, (*run).clusterMasterKilled},
		{"cluster-redis8", true, redis8, "", (*run).openCluster, (*run).clusterMasterKilled},
		{"cluster-valkey", true, valkey, "", (*run).openCluster, (*run).clusterMasterKilled},
	}
}

// TestStores sells on each kind of stores, with one and with four partitions. Three instances sell exactly the units,
// one to each buyer, including units that come back, although a server of the stores and an instance are killed in the
// rush; and each accepted order has its row.
func TestStores(t *testing.T) {
	asked, all := kinds(), os.Getenv(envStores) == "all"
	if !all {
		asked = slices.DeleteFunc(asked, func(k kind) bool { return k.long })
	}
	seed := seedOf(t)
	for _, on := range asked {
		for _, partitions := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/partitions=%d", on.name, partitions), func(t *testing.T) {
				if on.redis != "" {
					t.Setenv(server.EnvRedisProgram, on.redis)
				}
				if on.mysql != "" {
					t.Setenv(server.EnvMySQLProgram, on.mysql)
				}
				r := newRun(t, seed)
				r.partitions = partitions
				on.open(r, deployment{
					units: 1200, settings: map[string]string{"SECKILL_PARTITIONS": strconv.Itoa(partitions)},
				})
				r.Logf("on %s and %s", r.redisName(), r.mysqlName())
				r.sellOut(on.kill)
			})
		}
	}
}

// redisName returns the name and the version that Redis says.
func (r *run) redisName() string {
	r.Helper()
	name, err := rig.StoreName(r.Context(), r.site.Redis)
	r.must(err)
	return name
}

// mysqlName returns the name and the version of the database, and Galera's.
func (r *run) mysqlName() string {
	if r.galera != nil {
		return r.mysql.Name + " " + r.galera.Version
	}
	return r.mysql.Name + " " + r.mysql.Version
}

// sellOut sells a sale in three parts. First fewer users than units buy, and some of them cancel. Then users come until
// servers have been killed and work again. At last three times as many users as units want the rest.
func (r *run) sellOut(kill func(*run)) {
	r.Helper()
	r.buyers.BuyAll(r.Context(), 32, r.newUsers(int(r.units/3)))
	r.awaitSettled()
	r.cancelSome(10)
	r.load(32, 20*time.Millisecond)
	r.awaitAccepted(60)
	kill(r)
	r.must(r.site.Servers[r.victim()].KillAndStart())
	r.awaitAccepted(20)
	r.faultEnded()
	r.endLoad()
	r.buyers.BuyAll(r.Context(), 64, r.newUsers(int(3*r.units)))
	r.sellRest()
	r.finish()
	r.expectAnswer("refused SOLD_OUT")
	r.Logf("%d acceptances were lost; answers %v", r.result.lost, r.buyers.Record.Counts())
}

// sellingOn kills the database while instances go on selling.
func sellingOn(r *run) { r.mysqlKilled(20) }

// redisKilled kills a Redis that flushes before it answers, and starts it again: nothing may be lost.
func (r *run) redisKilled() {
	r.rebuilt = true // by instances that notice the restart
	r.redis.Kill()
	r.redis.Start()
}

// sellRest lets users come until nothing is left: a unit that comes back to a sold-out sale waits until no instance
// remembers the sale as sold out, and by then the crowd has left.
func (r *run) sellRest() {
	r.Helper()
	box.Eventually(r, "selling what has come back", func() error {
		left, _, err := r.site.Ledger.Sale(r.Context(), r.buyers.Voucher)
		if err != nil || left == 0 {
			return err
		}
		r.buyers.BuyAll(r.Context(), 4, r.newUsers(8))
		return fmt.Errorf("%d units are left", left)
	})
}

// cancelSome cancels orders of n buyers.
func (r *run) cancelSome(n int) {
	r.Helper()
	for user, id := range r.buyers.Record.Winners() {
		if n--; n < 0 {
			return
		}
		a := checker.Answer{
			Action: checker.Cancel, Outcome: checker.Accepted, User: user, Voucher: r.buyers.Voucher,
			Order: id, Sent: time.Now(),
		}
		r.site.Client.Must(r, http.StatusOK, box.Request{
			Method: http.MethodPost, URL: r.site.URL(fmt.Sprintf("/order/%d/cancel", id)), Token: box.BuyerToken(user),
		})
		a.Received = time.Now()
		r.buyers.Record.Add(a)
	}
}

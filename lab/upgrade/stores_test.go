package upgrade

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the ledger
	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// stores are a Redis and a database that instances of several versions share, and the test's connections to them.
type stores struct {
	testing.TB
	redis  map[string]string // the settings that name it
	dsn    string
	rdb    *box.Redis
	ledger box.Ledger

	// What a test does to the Redis that the sale is in.
	empty, crash func()
}

// openStores returns a Redis and a MySQL of the test's own, which it may kill and empty.
func openStores(tb testing.TB, redis *testkit.RedisServer, dsn string) *stores {
	tb.Helper()
	s := &stores{
		TB: tb, redis: map[string]string{"SECKILL_REDIS_ADDRS": redis.Addr}, dsn: dsn,
		rdb: box.NewRedis(redis.Client(), ""), ledger: box.OpenLedger(tb, "mysql", dsn),
	}
	s.empty = func() { s.must(s.rdb.FlushAll(s.Context()).Err()) }
	s.crash = func() { redis.Kill(); redis.Start() }
	return s
}

// onCluster is openStores with a Redis Cluster of three masters, each with a replica.
func onCluster(tb testing.TB, dsn string) *stores {
	tb.Helper()
	const timeout = time.Minute // longer than a node needs to start again: no replica takes over
	cluster := testkit.StartRedisClusterOf(tb, 3, 1, timeout, keepsAll...)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()})
	tb.Cleanup(func() { _ = client.Close() }) // all is read
	s := &stores{
		TB: tb, dsn: dsn, rdb: box.NewRedis(client, ""), ledger: box.OpenLedger(tb, "mysql", dsn),
		redis: map[string]string{
			"SECKILL_REDIS_MODE": "cluster", "SECKILL_REDIS_ADDRS": strings.Join(cluster.Addrs(), ","),
		},
		empty: cluster.Empty,
	}
	s.crash = func() {
		node := cluster.Nodes[cluster.Master(s.rdb.StreamKey())]
		node.Kill()
		node.Start()
	}
	return s
}

// keepsAll makes a Redis lose nothing when it is killed.
var keepsAll = []string{"--appendonly", "yes", "--appendfsync", "always"}

// settings returns the settings of every instance, whatever its version.
func (s *stores) settings() map[string]string {
	all := map[string]string{
		"SECKILL_MYSQL_DSN": s.dsn, "SECKILL_JWT_SECRET": box.Secret, "SECKILL_USER_RATE": "0",
	}
	maps.Copy(all, s.redis)
	return all
}

// start starts an instance of a release.
func (s *stores) start(r release, id string) *instance {
	s.Helper()
	return launch(s.TB, r, id, s.settings())
}

func (s *stores) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// epoch returns how often a sale was built in Redis.
func (s *stores) epoch(voucher int64) int64 {
	s.Helper()
	n, err := s.ledger.Epoch(s.Context(), voucher)
	s.must(err)
	return n
}

// evidence reads a sale from ledger and Redis.
func (s *stores) evidence(ctx context.Context, voucher, issued int64) (checker.Evidence, error) {
	e := checker.Evidence{Voucher: voucher, Issued: issued}
	stock, _, err := s.ledger.Sale(ctx, voucher)
	if err != nil {
		return e, err
	}
	rows, err := s.ledger.Orders(ctx, voucher)
	if err != nil {
		return e, err
	}
	live, err := s.rdb.Sale(ctx, voucher)
	e.LedgerStock, e.Redis = &stock, &live
	e.Views = []checker.View{{Name: "the ledger", Orders: rows, Complete: true}}
	return e, err
}

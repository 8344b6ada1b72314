package upgrade

import (
	"context"
	"strconv"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the ledger
	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// stores are a Redis and a database that instances of several versions share, as the test reads them.
type stores struct {
	testing.TB
	redisAddr, prefix, dsn string
	rdb                    *box.Redis
	ledger                 box.Ledger
}

// sharedStores are keys and a schema of the test's own on the servers that all tests share.
func sharedStores(tb testing.TB) *stores {
	tb.Helper()
	rdb, prefix := testkit.Redis(tb)
	return openStores(tb, rdb, testkit.RedisAddr(tb), prefix, testkit.MySQL(tb))
}

// ownStores are a schema of the test's own and a Redis of its own, whose keys have no prefix: fixtures hold the keys as
// they are by default.
func ownStores(tb testing.TB) *stores {
	tb.Helper()
	redis := testkit.StartRedis(tb)
	return openStores(tb, redis.Client(), redis.Addr, "", testkit.MySQL(tb))
}

func openStores(tb testing.TB, rdb *redis.Client, redisAddr, prefix, dsn string) *stores {
	tb.Helper()
	return &stores{TB: tb, redisAddr: redisAddr, prefix: prefix, dsn: dsn, rdb: box.NewRedis(rdb, prefix), ledger: box.OpenLedger(tb, "mysql", dsn)}
}

// settings are those of every instance, whatever its version.
func (s *stores) settings() map[string]string {
	return map[string]string{
		"SECKILL_REDIS_ADDRS": s.redisAddr, "SECKILL_REDIS_PREFIX": s.prefix, "SECKILL_MYSQL_DSN": s.dsn,
		"SECKILL_JWT_SECRET": box.Secret, "SECKILL_USER_RATE": "0",
	}
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

// key returns the key of something of a sale that package box does not read.
func (s *stores) key(kind string, voucher int64) string {
	return s.prefix + "{p0}:" + kind + ":" + strconv.FormatInt(voucher, 10)
}

// length returns how many entries a stream has.
func (s *stores) length(stream string) int64 {
	s.Helper()
	n, err := s.rdb.XLen(s.Context(), stream).Result()
	s.must(err)
	return n
}

// epoch returns how often a sale was built in Redis.
func (s *stores) epoch(voucher int64) int64 {
	s.Helper()
	n, err := s.ledger.Epoch(s.Context(), voucher)
	s.must(err)
	return n
}

// status returns the state of a recorded order, 0 for none.
func (s *stores) status(order int64) (n checker.Status) {
	s.Helper()
	s.must(s.ledger.DB.QueryRowContext(s.Context(), "SELECT COALESCE(MAX(status), 0) FROM tb_voucher_order WHERE id = ?", order).Scan(&n))
	return n
}

// stopRecording keeps every instance from recording, until the returned function is called: orders can be read and not
// written.
func (s *stores) stopRecording() (resume func()) {
	s.Helper()
	conn, err := s.ledger.DB.Conn(s.Context())
	s.must(err)
	_, err = conn.ExecContext(s.Context(), "LOCK TABLES tb_voucher_order READ")
	s.must(err)
	s.Cleanup(func() { _ = conn.Close() }) // after release it has nothing to do
	return func() {
		s.Helper()
		_, err := conn.ExecContext(s.Context(), "UNLOCK TABLES")
		s.must(err)
		s.must(conn.Close())
	}
}

// evidence reads what ledger and Redis have of a sale.
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

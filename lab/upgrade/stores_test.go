package upgrade

import (
	"context"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the ledger

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// stores are a Redis and a database that instances of several versions share, and the test's connections to them.
type stores struct {
	testing.TB
	redisAddr, dsn string
	rdb            *box.Redis
	ledger         box.Ledger
}

// openStores returns a Redis and a MySQL of the test's own, which it may kill and empty.
func openStores(tb testing.TB, redis *testkit.RedisServer, dsn string) *stores {
	tb.Helper()
	return &stores{
		TB: tb, redisAddr: redis.Addr, dsn: dsn,
		rdb: box.NewRedis(redis.Client(), ""), ledger: box.OpenLedger(tb, "mysql", dsn),
	}
}

// settings returns the settings of every instance, whatever its version.
func (s *stores) settings() map[string]string {
	return map[string]string{
		"SECKILL_REDIS_ADDRS": s.redisAddr, "SECKILL_MYSQL_DSN": s.dsn,
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

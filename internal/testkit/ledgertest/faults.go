package ledgertest

import (
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/order"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit"
)

// Through opens a second store on the ledger's schema, after change has altered its connection, for example to put a
// fault between.
func Through(tb testing.TB, dsn string, change func(*mysql.Config), o sqlkit.Options) Whole {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	change(cfg)
	store, err := sqlstore.OpenMySQL(tb.Context(), cfg.FormatDSN(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return WholeOf(store)
}

// Proxied opens a second store on the schema whose connections go through the proxy.
func Proxied(tb testing.TB, dsn string, o sqlkit.Options) (Whole, *testkit.Proxy) {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	proxy := testkit.NewProxy(tb, cfg.Addr)
	return Through(tb, dsn, func(c *mysql.Config) { c.Addr = proxy.Addr }, o), proxy
}

// Infrastructure fails the test unless err is an error of the infrastructure: not nil, and not about the batch itself.
func Infrastructure(tb testing.TB, err error) {
	tb.Helper()
	if err == nil || errors.Is(err, order.ErrConflict) || errors.Is(err, order.ErrRejected) {
		tb.Errorf("%v, want an error of the infrastructure", err)
	}
}

// LockTable locks a table against all other connections until unlock is called.
func (l Ledger) LockTable(tb testing.TB, table string) (unlock func()) {
	tb.Helper()
	conn, err := l.Raw.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := conn.ExecContext(tb.Context(), "LOCK TABLES "+table+" WRITE"); err != nil {
		tb.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(tb.Context(), "UNLOCK TABLES"); err != nil {
			tb.Error(err)
		}
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
	}
}

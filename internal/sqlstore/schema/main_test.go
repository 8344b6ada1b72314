package schema_test

import (
	"os"
	"testing"

	"seckill/internal/testkit"
	"seckill/internal/testkit/ledgertest"
)

func TestMain(m *testing.M) {
	if code, asked := migrateIfAsked(); asked {
		os.Exit(code)
	}
	testkit.Main(m)
}

// ledger is one of ledgertest, with what only the tests of this package need.
type ledger struct{ ledgertest.Ledger }

// eachOwnSchema runs the test on a migrated ledger in MariaDB and in SQLite. The test may change its tables.
func eachOwnSchema(t *testing.T, test func(t *testing.T, l ledger)) {
	t.Helper()
	ledgertest.EachOwnSchema(t, func(t *testing.T, l ledgertest.Ledger) { test(t, ledger{l}) })
}

// eachDialect is eachOwnSchema for a test that leaves the tables as they are.
func eachDialect(t *testing.T, test func(t *testing.T, l ledger)) {
	t.Helper()
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) { test(t, ledger{l}) })
}

func openMySQL(tb testing.TB, dsn string) ledger {
	tb.Helper()
	return ledger{ledgertest.OpenMySQL(tb, dsn)}
}

func openSQLite(tb testing.TB, path string) ledger {
	tb.Helper()
	return ledger{ledgertest.OpenSQLite(tb, path)}
}

// pastStore returns a ledger without a store, for reading and changing its tables.
func pastStore(tb testing.TB, dsn string) ledger {
	tb.Helper()
	return ledger{ledgertest.Ledger{Raw: ledgertest.RawPool(tb, "mysql", dsn), Dialect: "mysql"}}
}

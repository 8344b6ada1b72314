package sqlstore_test

import (
	"testing"

	"seckill/internal/testkit/ledgertest"
)

// ledger is one of ledgertest, with what only the tests of this package need.
type ledger struct{ ledgertest.Ledger }

// eachDialect runs the test on an empty, migrated ledger in MariaDB and in SQLite. The test must not change its tables.
func eachDialect(t *testing.T, test func(t *testing.T, l ledger)) {
	t.Helper()
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) { test(t, ledger{l}) })
}

// eachOwnSchema is eachDialect for a test that changes tables.
func eachOwnSchema(t *testing.T, test func(t *testing.T, l ledger)) {
	t.Helper()
	ledgertest.EachOwnSchema(t, func(t *testing.T, l ledgertest.Ledger) { test(t, ledger{l}) })
}

func openMySQL(tb testing.TB, dsn string) ledger {
	tb.Helper()
	return ledger{ledgertest.OpenMySQL(tb, dsn)}
}

func openSQLite(tb testing.TB, path string) ledger {
	tb.Helper()
	return ledger{ledgertest.OpenSQLite(tb, path)}
}

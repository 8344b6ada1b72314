package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit"
	"seckill/internal/testkit/ledgertest"
)

func TestOpenMySQLRefuses(t *testing.T) {
	t.Parallel()
	const password = "s3cret-of-the-test"
	for name, dsn := range map[string]string{
		"clientFoundRows": "user:" + password + "@tcp(127.0.0.1:3306)/seckill?clientFoundRows=true",
		"no schema":       "user:" + password + "@tcp(127.0.0.1:3306)/",
		"no slash":        "user:" + password + "@tcp(127.0.0.1:3306)",
		"bad parameter":   "user:" + password + "@tcp(127.0.0.1:3306)/seckill?parseTime=perhaps",
		"nothing":         "",
	} {
		store, err := sqlstore.OpenMySQL(t.Context(), dsn, ledgertest.Limits())
		if !errors.Is(err, sqlkit.ErrDSN) || store != nil {
			t.Errorf("%s: %v, want ErrDSN", name, err)
			continue
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("%s: the message gives the password away: %v", name, err)
		}
	}
}

func TestOpenMySQLUnreachable(t *testing.T) {
	t.Parallel()
	store, err := sqlstore.OpenMySQL(t.Context(), "user:s3cret@tcp(127.0.0.1:1)/seckill", ledgertest.Limits())
	if err == nil || store != nil {
		t.Fatalf("%v, want an error", err)
	}
	if !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v: want the address and no password", err)
	}
}

// isolationVariable returns how the server calls the isolation level: MySQL has had another name since 8.0, MariaDB has
// both since 11.1.
func isolationVariable(t *testing.T, dsn string) string {
	t.Helper()
	const name = "transaction_isolation"
	var found int
	err := ledgertest.RawPool(t, "mysql", dsn).QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM information_schema.session_variables WHERE variable_name = ?", name).Scan(&found)
	if err == nil && found == 0 {
		return "tx_isolation"
	}
	return name // MySQL has no such table
}

// Whatever the DSN says, sessions are as the transactions need them.
func TestMySQLSession(t *testing.T) {
	t.Parallel()
	dsn := testkit.MySQL(t)
	isolation := isolationVariable(t, dsn)
	store := ledgertest.Through(t, dsn, func(c *mysql.Config) {
		c.Loc, _ = time.LoadLocation("Asia/Shanghai")
		c.ParseTime, c.InterpolateParams = false, false
		c.ReadTimeout = time.Hour
		c.Params = map[string]string{"time_zone": "'+08:00'", "sql_mode": "''", isolation: "'SERIALIZABLE'"}
	}, sqlkit.Options{MaxConns: 16, Timeout: 8 * time.Second})
	for variable, want := range map[string]string{
		"@@SESSION." + isolation:                          "READ-COMMITTED",
		"@@SESSION.time_zone":                             "+00:00",
		"@@SESSION.innodb_lock_wait_timeout":              "4",
		"@@SESSION.lock_wait_timeout":                     "4",
		"@@SESSION.wait_timeout":                          "15",
		"@@SESSION.character_set_client":                  "utf8mb4",
		"@@SESSION.character_set_connection":              "utf8mb4",
		"@@SESSION.sql_mode LIKE '%STRICT_TRANS_TABLES%'": "1",
	} {
		got, err := sqlstore.Setting(t.Context(), store.Store, variable)
		if err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", variable, got, err, want)
		}
	}
	if got := store.DB().Pool().Stats().MaxOpenConnections; got != 16 {
		t.Errorf("%d connections at most, want 16", got)
	}
}

func TestSQLiteSession(t *testing.T) {
	t.Parallel()
	// Characters that mean something in a URI or in a DSN.
	path := filepath.Join(t.TempDir(), "a b?c=d#e%20&f")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(path, "ledger.db")
	l := openSQLiteStore(t, path)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000"} {
		got, err := sqlstore.Setting(t.Context(), l, "(SELECT * FROM pragma_"+pragma+")")
		if err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", pragma, got, err, want)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is elsewhere: %v", err)
	}
}

// What was committed before the process died is there when the next one opens the file.
func TestSQLiteOpensAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openSQLite(t, path)
	v := l.Seckill(t, 10)
	l.Record(t, ledgertest.Claims(v, 1, 3))
	// No Close: the first one is still there, as a file that was not put away is.
	again := openSQLite(t, path)
	if sale := again.Sale(t, v); sale.Stock != 7 {
		t.Errorf("sale = %+v, want stock 7", sale)
	}
	again.Record(t, ledgertest.Claims(v, 4, 1))
	l.Conserved(t, v)
}

func TestOpenSQLiteUnusable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{garbage, filepath.Join(dir, "missing", "ledger.db"), dir} {
		if _, err := sqlstore.OpenSQLite(t.Context(), path, ledgertest.Limits()); err == nil ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error that names it", path, err)
		}
	}
}

func openSQLiteStore(t *testing.T, path string) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.OpenSQLite(t.Context(), path, ledgertest.Limits())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return store
}

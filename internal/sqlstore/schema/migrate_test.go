package schema_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/schema"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/migrations"
)

// files are the migrations, in order.
var files = []string{
	"01000_ledger.sql", "02000_operation_identity.sql", "02001_notices.sql", "02003_lost_decision.sql",
	"02004_lists.sql", "02005_refunds.sql", "02006_purge.sql", "02007_event_stream.sql",
	"02008_shops.sql", "02009_refusals.sql", "02010_draws.sql", "02011_pictures.sql",
}

// eachEmpty runs the test with a function that opens the same empty schema again and again.
func eachEmpty(t *testing.T, test func(t *testing.T, open func() *sqlstore.Store, l ledger)) {
	t.Helper()
	t.Parallel()
	opener := func(t *testing.T, open func() (*sqlstore.Store, error)) func() *sqlstore.Store {
		return func() *sqlstore.Store {
			store, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() }) // some tests close it themselves
			return store
		}
	}
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		dsn := testkit.MySQL(t)
		test(t, opener(t, func() (*sqlstore.Store, error) {
			return sqlstore.OpenMySQL(t.Context(), dsn, quiet())
		}), pastStore(t, dsn))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "ledger.db")
		test(t, opener(t, func() (*sqlstore.Store, error) {
			return sqlstore.OpenSQLite(t.Context(), path, quiet())
		}), ledger{
			ledgertest.Ledger{Raw: ledgertest.RawPool(t, "sqlite", ledgertest.RawSQLite(path)), Dialect: "sqlite"},
		})
	})
}

func quiet() sqlkit.Options { return ledgertest.Options(new(atomic.Int64)) }

func migrate(t *testing.T, store *sqlstore.Store, want []string) {
	t.Helper()
	applied, err := store.Schema().Migrate(t.Context())
	if diff := cmp.Diff(want, applied); err != nil || diff != "" {
		t.Errorf("Migrate: %v; applied (-want +got):\n%s", err, diff)
	}
}

func TestMigrateTwice(t *testing.T) {
	eachEmpty(t, func(t *testing.T, open func() *sqlstore.Store, l ledger) {
		store := open()
		err := store.Schema().Check(t.Context())
		if !errors.Is(err, schema.ErrOld) || !strings.Contains(err.Error(), files[0]) {
			t.Errorf("Check of an empty schema: %v, want ErrOld that names %s", err, files[0])
		}
		if tables := l.tables(t); tables != 0 {
			t.Errorf("Check created %d tables", tables)
		}
		migrate(t, store, files)
		migrate(t, store, nil)
		migrate(t, open(), nil)
		if err := store.Schema().Check(t.Context()); err != nil {
			t.Errorf("Check after migrating: %v", err)
		}
	})
}

// tables counts the schema's tables.
func (l ledger) tables(t *testing.T) int64 {
	t.Helper()
	if l.Dialect == "sqlite" {
		return l.Number(t, "SELECT COUNT(*) FROM sqlite_master")
	}
	return l.Number(t, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()")
}

// Five instances start at once: one migrates, all find the schema ready.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	dsn := testkit.MySQL(t)
	var mu sync.Mutex
	var applied []string
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			store, err := sqlstore.OpenMySQL(t.Context(), dsn, quiet())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = store.Close() }() // the test is about something else
			files, err := store.Schema().Migrate(t.Context())
			if err == nil {
				err = store.Schema().Check(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			applied = append(applied, files...)
		})
	}
	wg.Wait()
	if diff := cmp.Diff(files, applied); diff != "" {
		t.Errorf("applied by all together (-want +got):\n%s", diff)
	}
}

// A process died after some statement: before the first row of the table of migrations, or after some of the tables.
func TestMigrateAfterACrash(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string][]string{
		"no first row": {"DELETE FROM tb_migration", "DROP TABLE tb_setting"},
		"not marked":   {"DELETE FROM tb_migration WHERE version_id > 0"},
		"half of tables": {
			"DELETE FROM tb_migration WHERE version_id > 0", "DROP TABLE tb_audit", "DROP TABLE tb_setting",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testkit.MySQL(t) // SQLite's DDL is rolled back
			l := openMySQL(t, dsn)
			v := l.Seckill(t, 10)
			for _, statement := range undo {
				l.Exec(t, statement)
			}
			if err := l.Schema().Check(t.Context()); !errors.Is(err, schema.ErrOld) {
				t.Errorf("Check: %v, want ErrOld", err)
			}
			migrate(t, l.Store, files)
			if _, err := l.IDKey(t.Context()); err != nil {
				t.Error(err)
			}
			if sale := l.Sale(t, v); sale.Stock != 10 {
				t.Errorf("the sale has become %+v", sale)
			}
		})
	}
}

// An empty schema and a ledger of 1.0 are migrated by programs that die after one more statement each time, and at last
// by one that lives: between a change and its mark, too.
func TestMigrateDyingAfterEveryStatement(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]int64{"empty": 0, "of 1.0": firstRelease} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testkit.MySQL(t)
			migrateTo(t, dsn, first)
			dying := openQuiet(t, dsn)
			err := schema.ErrDied
			for n := 0; errors.Is(err, schema.ErrDied); n++ {
				if err = schema.MigrateDying(t.Context(), dying.Schema(), n); err == nil && n < len(files) {
					t.Errorf("all is done after %d statements", n)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			sameSchema(t, dsn)
		})
	}
}

// firstRelease is the last migration of 1.0.
const firstRelease = 1000

// migrateTo makes the schema as the program had it whose last migration is given; 0 leaves it empty.
func migrateTo(t *testing.T, dsn string, last int64) {
	t.Helper()
	if last == 0 {
		return
	}
	folder, err := fs.Sub(migrations.FS, "mysql")
	if err != nil {
		t.Fatal(err)
	}
	program, err := goose.NewProvider(goose.DialectMySQL, ledgertest.RawPool(t, "mysql", dsn), folder,
		goose.WithTableName("tb_migration"), goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = program.UpTo(t.Context(), last)
	}
	if err != nil {
		t.Fatalf("the schema of version %d: %v", last, err)
	}
}

// sameSchema fails the test unless the schema is one that was migrated at once.
func sameSchema(t *testing.T, dsn string) {
	t.Helper()
	l := openMySQL(t, dsn)
	fresh := openMySQL(t, testkit.MySQL(t))
	const seeds = "SELECT CONCAT_WS(' ', id, number) FROM tb_webhook_sequence"
	const columns = "SELECT CONCAT_WS(' ', table_name, column_name, ordinal_position, " +
		"column_type, is_nullable, column_default, column_comment) FROM information_schema.columns WHERE " +
		"table_schema = DATABASE()"
	const keys = "SELECT CONCAT_WS(' ', table_name, index_name, seq_in_index, column_name, non_unique) " +
		"FROM information_schema.statistics WHERE table_schema = DATABASE()"
	for _, query := range []string{columns, keys, seeds} {
		if diff := cmp.Diff(fresh.columns(t, query), l.columns(t, query)); diff != "" {
			t.Errorf("(-migrated at once +dying):\n%s", diff)
		}
	}
}

// In a rolling update the new instance migrates first; the old ones, and their restarts, go on.
func TestNewerSchemaIsAccepted(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.Exec(t, "INSERT INTO tb_migration (version_id, is_applied) VALUES (99999, 1)")
		migrate(t, l.Store, nil)
		if err := l.Schema().Check(t.Context()); err != nil {
			t.Errorf("Check: %v", err)
		}
	})
}

func TestMigrateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dsn := testkit.MySQL(t)
	l := openMySQL(t, dsn)
	if _, err := l.Schema().Migrate(ledgertest.Cancelled(t)); err == nil {
		t.Error("a cancelled context is no error")
	}
	migrate(t, l.Store, nil) // the lock is free
}

// The schema must not rely on what one of the servers does not know: every name and type below is in MySQL 8.4's
// manual as well, but these are MariaDB's alone or gone from MySQL 8.4.
func TestMigrationsAvoidWhatMySQLLacks(t *testing.T) {
	t.Parallel()
	for _, text := range migrationTexts(t, "mysql") {
		upper := strings.ToUpper(text)
		for _, word := range []string{
			" PERSISTENT", "UUID()", "CREATE SEQUENCE", "NEXTVAL", "ADD COLUMN IF NOT EXISTS",
			"CREATE INDEX IF NOT EXISTS", "RETURNING", "UTF8 ", "UTF8MB3", "BIGINT(", "TINYINT(", "INT(", "FLOAT(",
			"ZEROFILL", "PAGE_COMPRESSED", "UCA1400", "0900", "CURRENT_TIMESTAMP()", "INVISIBLE", "DEFAULT (",
		} {
			if strings.Contains(upper, word) {
				t.Errorf("a migration says %q", word)
			}
		}
	}
}

// Both folders hold the same tables, columns and migrations.
func TestDialectsAgree(t *testing.T) {
	t.Parallel()
	my := openMySQL(t, testkit.MySQL(t))
	lite := openSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	inMySQL := my.columns(t, "SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns "+
		"WHERE table_schema = DATABASE() AND table_name <> 'tb_migration_lease'") // SQLite's file has one process
	inSQLite := lite.columns(t,
		"SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c "+
			"WHERE m.type = 'table' AND m.name <> 'sqlite_sequence'")
	if diff := cmp.Diff(inMySQL, inSQLite); diff != "" {
		t.Errorf("columns (-mysql +sqlite):\n%s", diff)
	}
	if len(inMySQL) < 90 {
		t.Errorf("only %d columns were compared", len(inMySQL))
	}
}

func (l ledger) columns(t *testing.T, query string) (names []string) {
	t.Helper()
	rows, err := l.Raw.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // read to its end
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names) // the servers do not agree on whether _ comes before i
	return names
}

// migrationTexts returns the dialect's migrations.
func migrationTexts(t *testing.T, dialect string) (texts []string) {
	t.Helper()
	names, err := fs.Glob(migrations.FS, dialect+"/*.sql")
	if err != nil || len(names) != len(files) {
		t.Fatalf("migrations %v, %v; want %d of them", names, err, len(files))
	}
	for _, name := range names {
		b, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	return texts
}

package testkit_test

import (
	"context"
	"database/sql"
	"testing"

	"seckill/internal/testkit"
)

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestMySQLSchemasAreApart(t *testing.T) {
	t.Parallel()
	dsns := map[string]bool{}
	for range 2 {
		dsn := testkit.MySQL(t)
		if dsns[dsn] {
			t.Fatalf("schema handed out twice: %s", dsn)
		}
		dsns[dsn] = true
		if _, err := open(t, dsn).ExecContext(t.Context(), "CREATE TABLE same (id INT)"); err != nil {
			t.Error(err)
		}
	}
}

func TestMariaDBKeepsWhatItCommitted(t *testing.T) {
	t.Parallel()
	m := testkit.StartMariaDB(t)
	dsn, ctx := m.DSN("shop"), t.Context()
	db := open(t, dsn)
	for _, statement := range []string{"CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	var flush int
	if err := db.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit").Scan(&flush); err != nil || flush != 1 {
		t.Errorf("innodb_flush_log_at_trx_commit = %d, %v; want 1", flush, err)
	}
	m.Kill()
	if err := db.PingContext(ctx); err == nil {
		t.Error("the killed server answers")
	}
	m.Start()
	if again := m.DSN("shop"); again != dsn {
		t.Errorf("DSN after the start is %s, was %s", again, dsn)
	}
	var n int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != 1 {
		t.Errorf("rows after the kill: %d, %v; want 1", n, err)
	}
}

func TestMigratedSchemasAreEmptiedBetweenTests(t *testing.T) {
	t.Parallel()
	migrations := 0
	migrate := func(ctx context.Context, dsn string) error {
		migrations++
		db := open(t, dsn)
		for _, statement := range []string{
			"CREATE TABLE word (word VARCHAR(9) PRIMARY KEY)", "INSERT INTO word VALUES ('first')",
			"CREATE TABLE numbered (id INT PRIMARY KEY AUTO_INCREMENT)",
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
	used := map[string]bool{}
	for range 3 {
		t.Run("", func(t *testing.T) { //nolint:paralleltest // one after the other, so that the schema is used again
			dsn := testkit.MigratedMySQL(t, migrate)
			used[dsn] = true
			db := open(t, dsn)
			for _, statement := range []string{"INSERT INTO numbered () VALUES ()", "INSERT INTO word VALUES ('second')"} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Error(err) // the word is there already
				}
			}
			var id, words int
			err := db.QueryRowContext(t.Context(), "SELECT (SELECT id FROM numbered), (SELECT COUNT(*) FROM word)").Scan(&id, &words)
			if err != nil || id != 1 || words != 2 {
				t.Errorf("id %d, %d words, %v; want 1 and 2", id, words, err)
			}
		})
	}
	if migrations != 1 || len(used) != 1 {
		t.Errorf("%d migrations, %d schemas; want one of each", migrations, len(used))
	}
}

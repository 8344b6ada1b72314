package ddl_test

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/sqlstore/schema/ddl"
	"seckill/internal/testkit"
	"seckill/migrations"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestMigrationsAreOnline: no statement that comes after 1.0 keeps others from the rows of a table, or versions before
// from writing it.
func TestMigrationsAreOnline(t *testing.T) {
	t.Parallel()
	for name, text := range sinceFirst(t, "mysql") {
		statements := ddl.Parse(text)
		if len(statements) == 0 {
			t.Errorf("%s has no statement", name)
		}
		for _, s := range statements {
			if err := online(s); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestSQLiteAddsOnly: the file of the embedded mode has one process, so nothing waits; but a version before reads it.
func TestSQLiteAddsOnly(t *testing.T) {
	t.Parallel()
	allowed := regexp.MustCompile(`^(CREATE TABLE \w|CREATE INDEX \w|INSERT INTO \w|ALTER TABLE \w+ ADD COLUMN \w)`)
	for name, text := range sinceFirst(t, "sqlite") {
		for _, s := range ddl.Parse(text) {
			if !allowed.MatchString(s.Text) {
				t.Errorf("%s: %s", name, s.Text)
			}
		}
	}
}

// sinceFirst returns the dialect's migrations after that of 1.0, by file name.
func sinceFirst(t *testing.T, dialect string) map[string]string {
	t.Helper()
	files, err := fs.Glob(migrations.FS, dialect+"/*.sql")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		if path.Base(file) > "01000_ledger.sql" {
			texts[file] = string(text)
		}
	}
	return texts
}

// TestOnline: what a migration may say, and what it may not.
func TestOnline(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		"ALTER TABLE t ADD COLUMN a BIGINT NULL, ALGORITHM = INSTANT":                                "",
		"alter table t add column a int default 0, algorithm=instant":                                "",
		"ALTER TABLE t ADD COLUMN a INT NOT NULL DEFAULT 0 COMMENT 'no, DROP it', ALGORITHM=INSTANT": "",
		"ALTER TABLE t ADD INDEX i (a, b), ALGORITHM = INPLACE, LOCK = NONE":                         "",
		"CREATE TABLE IF NOT EXISTS t (a INT NOT NULL, CHECK (a > 0))":                               "",
		"INSERT IGNORE INTO t (a, b) VALUES (1, 2)":                                                  "",

		"CREATE TABLE t (a INT)":                              "cannot be repeated",
		"INSERT INTO t (a) VALUES (1)":                        "cannot be repeated",
		"ALTER TABLE t ADD COLUMN a INT NULL":                 "does not say",
		"ALTER TABLE t ADD COLUMN a INT, ALGORITHM = INPLACE": "does not say",
		"ALTER TABLE t ADD COLUMN a INT, ALGORITHM = COPY":    "does not say",
		"ALTER TABLE t ADD COLUMN a INT, ALGORITHM = DEFAULT": "does not say",
		// MySQL refuses a LOCK beside INSTANT.
		"ALTER TABLE t ADD COLUMN a INT, ALGORITHM = INSTANT, LOCK = NONE":                  "does not say",
		"ALTER TABLE t ADD INDEX i (a)":                                                     "does not say",
		"ALTER TABLE t ADD INDEX i (a), ALGORITHM = INPLACE":                                "does not say",
		"ALTER TABLE t ADD INDEX i (a), ALGORITHM = INPLACE, LOCK = SHARED":                 "does not say",
		"ALTER TABLE t ADD INDEX i (a), ALGORITHM = COPY, LOCK = NONE":                      "does not say",
		"ALTER TABLE t ADD COLUMN a INT NOT NULL, ALGORITHM = INSTANT":                      "NULL or a DEFAULT",
		"ALTER TABLE t ADD COLUMN a INT AS (b) STORED, ALGORITHM = INSTANT":                 "not computed",
		"ALTER TABLE t ADD COLUMN a INT UNIQUE, ALGORITHM = INSTANT":                        "not computed",
		"ALTER TABLE t ADD COLUMN a INT CHECK (a > 0), ALGORITHM = INSTANT":                 "not computed",
		"ALTER TABLE t ADD COLUMN a INT, ADD INDEX i (a), ALGORITHM = INPLACE, LOCK = NONE": "an ALTER of its own",
		"ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b INT, ALGORITHM = INSTANT":             "an ALTER of its own",
		"ALTER TABLE t ADD UNIQUE KEY i (a), ALGORITHM = INPLACE, LOCK = NONE":              "not one of the forms",
		"ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0), ALGORITHM = INPLACE, LOCK = NONE":    "not one of the forms",
		"ALTER TABLE t DROP COLUMN a, ALGORITHM = INSTANT":                                  "not one of the forms",
		"ALTER TABLE t DROP INDEX i, ALGORITHM = INPLACE, LOCK = NONE":                      "not one of the forms",
		"ALTER TABLE t MODIFY a BIGINT, ALGORITHM = INPLACE, LOCK = NONE":                   "not one of the forms",
		"ALTER TABLE t RENAME COLUMN a TO b, ALGORITHM = INSTANT":                           "not one of the forms",
		"ALTER TABLE t ADD COLUMN a INT, RENAME TO u, ALGORITHM = INSTANT":                  "not one of the forms",
		"ALTER TABLE t ENGINE = InnoDB, ALGORITHM = INPLACE, LOCK = NONE":                   "not one of the forms",
		"ALTER TABLE t ALGORITHM = INSTANT":                                                 "not one of the forms",
		// The server knows what to wait for by what comes first.
		"ALTER TABLE t ALGORITHM = INSTANT, ADD COLUMN a INT NULL": "not one of the forms",
		"CREATE INDEX i ON t (a) ALGORITHM = INPLACE LOCK = NONE":  "not one of the forms",
		"DROP TABLE t":       "not one of the forms",
		"TRUNCATE t":         "not one of the forms",
		"UPDATE t SET a = 1": "not one of the forms",
		"INSERT IGNORE INTO t (a) SELECT a FROM u":      "not one of the forms",
		"OPTIMIZE TABLE t":                              "not one of the forms",
		"LOCK TABLES t WRITE":                           "not one of the forms",
		"SET old_alter_table = 1":                       "not one of the forms",
		"CREATE TABLE IF NOT EXISTS t SELECT * FROM u":  "not one of the forms",
		"CREATE TABLE IF NOT EXISTS t (a INT) SELECT 1": "not one of the forms",
	} {
		for _, s := range ddl.Parse("-- +goose Up\n-- A comment; with a semicolon.\n" + text + "; -- here\n") {
			switch err := online(s); {
			case wrong == "" && err != nil:
				t.Errorf("%s: %v", text, err)
			case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)):
				t.Errorf("%s: %v, want %q", text, err, wrong)
			}
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	type read struct {
		Kind        ddl.Kind
		Table, Text string
	}
	var got []read
	for _, s := range ddl.Parse(`-- +goose Up
-- Of a table; and more.
ALTER TABLE a
    ADD COLUMN b INT NULL COMMENT 'it''s; -- no end', -- 'of it
    ALGORITHM = INSTANT;

ALTER TABLE a ADD INDEX i (b), ALGORITHM = INPLACE, LOCK = NONE;
CREATE TABLE IF NOT EXISTS c (d INT);
INSERT IGNORE INTO c (d) VALUES (1)`) {
		got = append(got, read{s.Kind, s.Table, s.Text})
	}
	want := []read{
		{ddl.AddColumn, "a", "ALTER TABLE a ADD COLUMN b INT NULL COMMENT 'it''s; -- no end', ALGORITHM = INSTANT"},
		{ddl.AddIndex, "a", "ALTER TABLE a ADD INDEX i (b), ALGORITHM = INPLACE, LOCK = NONE"},
		{ddl.CreateTable, "c", "CREATE TABLE IF NOT EXISTS c (d INT)"},
		{ddl.Fill, "c", "INSERT IGNORE INTO c (d) VALUES (1)"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/redis/go-redis/v9"

	"seckill/migrations"
)

// Texts in the files of a release that stand for what differs in each run.
const (
	runIDHere = "THE-RUN-ID-OF-THE-SERVER" // else each sale would be rebuilt, and nothing read of its hash
	hookHere  = "http://127.0.0.1:9/hook"  // where nobody listens while the files are written
)

// migrateTo creates the schema as the release had it, which is what the migrations up to a version make: none of them
// may change (migrations/migrations_test.go).
func migrateTo(t *testing.T, db *sql.DB, dialect goose.Dialect, folder string, version int64) {
	t.Helper()
	files, err := fs.Sub(migrations.FS, folder)
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(dialect, db, files,
		goose.WithTableName("tb_migration"), goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err != nil {
		t.Fatalf("the schema of version %d: %v", version, err)
	}
}

// openMySQL opens a schema for statements by the dozen, and reads times as text.
func openMySQL(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.MultiStatements, c.ParseTime = true, false
	return openDB(t, "mysql", c.FormatDSN())
}

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // its last user has closed it, or the test has failed
	return db
}

// column is a column of a table that is written, with what reads it as a literal of SQL.
type column struct{ table, name, literal string }

// The columns of all tables that are written, in order. Those that the database computes are left out.
const (
	mysqlColumns = `SELECT table_name, column_name, CASE
		WHEN data_type LIKE '%blob' OR data_type LIKE '%binary'
		THEN CONCAT('CONCAT("X''", HEX(', column_name, '), "''")')
		WHEN data_type LIKE '%int' THEN CONCAT('CAST(', column_name, ' AS CHAR)')
		ELSE CONCAT('QUOTE(', column_name, ')') END
		FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name NOT LIKE 'tb_migration%'
		AND extra NOT LIKE '% GENERATED' ORDER BY table_name, ordinal_position`
	sqliteColumns = `SELECT m.name, c.name, 'quote(' || c.name || ')'
		FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table'
		AND m.name LIKE 'tb_%' AND m.name NOT LIKE 'tb_migration%' AND c.hidden = 0 ORDER BY m.name, c.cid`
)

// dumpRows returns statements that fill a schema with the rows of all tables, one row in a line.
func dumpRows(t *testing.T, db *sql.DB, columns string) string {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil) // all tables as they were at one moment
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	of := map[string][]column{}
	for _, row := range textRows(t, tx, columns, 3) {
		of[row[0]] = append(of[row[0]], column{row[0], row[1], row[2]})
	}
	var out strings.Builder
	for _, table := range slices.Sorted(maps.Keys(of)) {
		var names, literals []string
		for _, c := range of[table] {
			names = append(names, c.name)
			literals = append(literals, "COALESCE("+c.literal+", 'NULL')")
		}
		fmt.Fprintf(&out, "DELETE FROM %s;\n", table) // what the migrations have put there
		query := "SELECT " + strings.Join(literals, ", ") + " FROM " + table + " ORDER BY " + strings.Join(names, ", ")
		for i, row := range textRows(t, tx, query, len(names)) {
			if i == 0 {
				fmt.Fprintf(&out, "INSERT INTO %s (%s) VALUES\n", table, strings.Join(names, ", "))
			} else {
				out.WriteString(",\n")
			}
			out.WriteString("(" + strings.Join(row, ", ") + ")")
		}
		if text := out.String(); strings.HasSuffix(text, ")") {
			out.WriteString(";\n")
		}
	}
	return out.String()
}

// textRows returns the rows of a query with n columns of text.
func textRows(t *testing.T, tx *sql.Tx, query string, n int) (all [][]string) {
	t.Helper()
	rows, err := tx.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err reports the error
	for rows.Next() {
		row, to := make([]string, n), make([]any, n)
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// runID returns the run id of a Redis.
func runID(t *testing.T, rdb redis.UniversalClient) string {
	t.Helper()
	info, err := rdb.Info(t.Context(), "server").Result()
	found := regexp.MustCompile(`run_id:(\w+)`).FindStringSubmatch(info)
	if err != nil || found == nil {
		t.Fatalf("no run id: %v", err)
	}
	return found[1]
}

// dumpRedis returns the commands that make the keys, one in a line, each a JSON array. Locks are left out.
func dumpRedis(t *testing.T, rdb redis.UniversalClient) string {
	t.Helper()
	ctx := t.Context()
	keys, err := rdb.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	var out strings.Builder
	write := func(command ...any) {
		line, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	for _, key := range keys {
		if strings.HasPrefix(key, "lock:") {
			continue
		}
		switch kind := rdb.Type(ctx, key).Val(); kind {
		case "string":
			write("SET", key, rdb.Get(ctx, key).Val())
		case "hash":
			fields, command := rdb.HGetAll(ctx, key).Val(), []any{"HSET", key}
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				command = append(command, name, fields[name])
			}
			write(command...)
		case "zset":
			command := []any{"ZADD", key}
			for _, z := range rdb.ZRangeWithScores(ctx, key, 0, -1).Val() {
				command = append(command, strconv.FormatFloat(z.Score, 'f', -1, 64), z.Member)
			}
			write(command...)
		case "stream":
			dumpStream(ctx, rdb, key, write)
		default:
			t.Fatalf("%s is a %s", key, kind)
		}
		if ttl := rdb.PTTL(ctx, key).Val(); ttl > 0 {
			write("PEXPIRE", key, strconv.FormatInt(ttl.Milliseconds(), 10))
		}
	}
	return strings.ReplaceAll(out.String(), runID(t, rdb), runIDHere)
}

// dumpStream writes the commands that make a stream with its groups and what is pending.
func dumpStream(ctx context.Context, rdb redis.UniversalClient, key string, write func(...any)) {
	for _, e := range rdb.XRange(ctx, key, "-", "+").Val() {
		command := []any{"XADD", key, e.ID}
		for _, name := range slices.Sorted(maps.Keys(e.Values)) {
			command = append(command, name, e.Values[name])
		}
		write(command...)
	}
	for _, g := range rdb.XInfoGroups(ctx, key).Val() {
		write("XGROUP", "CREATE", key, g.Name, g.LastDeliveredID, "MKSTREAM")
		for _, p := range rdb.XPendingExt(ctx, &redis.XPendingExtArgs{
			Stream: key, Group: g.Name, Start: "-", End: "+", Count: 1000,
		}).Val() {
			write("XCLAIM", key, g.Name, p.Consumer, "0", p.ID, "FORCE", "JUSTID")
		}
	}
	write("XSETID", key, rdb.XInfoStream(ctx, key).Val().LastGeneratedID)
}

// loadRedis runs the commands of a dump.
func loadRedis(t *testing.T, rdb redis.UniversalClient, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, runIDHere, runID(t, rdb))
	lines := json.NewDecoder(strings.NewReader(text))
	for lines.More() {
		var command []any
		err := lines.Decode(&command)
		if err == nil {
			err = rdb.Do(t.Context(), command...).Err()
		}
		if err != nil {
			t.Fatalf("%v: %v", command, err)
		}
	}
}

// readFile reads a file of a release.
func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// writeFile writes a file of a release.
func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

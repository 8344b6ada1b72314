package schema

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
	"time"

	"seckill/internal/sqlstore/schema/ddl"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/migrations"
)

// Plan is what Migrate would do.
type Plan struct {
	Place  string // the schema and its server, or the file
	Server string // its version
	Galera bool   // its nodes execute each statement at the same time, and nothing else meanwhile
	Steps  []Step
}

// Step is a statement that Migrate would execute.
type Step struct {
	File string
	ddl.Statement
	Rows  int64         // of its table, about; 0 where the statement makes it
	Bytes int64         // of its table with its indexes, about
	Takes time.Duration // about
}

const (
	// instantly is what a statement takes that changes a table's description alone.
	instantly = 100 * time.Millisecond
	// indexing is what a row takes in an index that is built while others write (lab/notes/upgrades.md). Where a table
	// is larger than the server's memory it is more.
	indexing = 5 * time.Microsecond
)

// Takes returns about how long all steps take.
func (p Plan) Takes() (sum time.Duration) {
	for _, s := range p.Steps {
		sum += s.Takes
	}
	return sum
}

// Plan returns what Migrate would do. It changes nothing. Errors: order.ErrUnavailable when the database is away;
// ErrFormat.
func (s *Schema) Plan(ctx context.Context) (Plan, error) {
	p, err := s.plan(ctx)
	return p, sqlkit.ReadError(fmt.Sprintf("planning the migration of the %s schema", s.db.Dialect()), err)
}

func (s *Schema) plan(ctx context.Context) (p Plan, err error) {
	pool := s.db.Pool()
	if err := s.checkEmpty(ctx, pool); err != nil {
		return p, err
	}
	missing, err := s.missing(ctx)
	if err != nil {
		return p, err
	}
	p.Place = s.db.Place()
	if p.Server, p.Galera, err = s.describe(ctx, pool); err != nil {
		return p, err
	}
	for _, file := range missing {
		text, err := fs.ReadFile(migrations.FS, path.Join(string(s.db.Dialect()), file))
		if err != nil {
			return p, fmt.Errorf("reading the embedded migrations: %w", err)
		}
		for _, statement := range ddl.Parse(string(text)) {
			step := Step{File: file, Statement: statement, Takes: instantly}
			if step.Rows, step.Bytes, err = s.size(ctx, pool, statement.Table); err != nil {
				return p, err
			}
			if statement.Kind == ddl.AddIndex {
				step.Takes += time.Duration(step.Rows) * indexing
			}
			p.Steps = append(p.Steps, step)
		}
	}
	return p, nil
}

// describe returns the version of the database, and whether it is a Galera cluster.
func (s *Schema) describe(ctx context.Context, pool *sql.DB) (version string, galera bool, err error) {
	if s.db.Dialect() == sqlkit.SQLite {
		err = pool.QueryRowContext(ctx, "SELECT 'SQLite ' || sqlite_version()").Scan(&version)
		return version, false, err
	}
	if err = pool.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return version, false, err
	}
	rows, err := pool.QueryContext(ctx, "SHOW VARIABLES LIKE 'wsrep_on'") // MySQL has none
	if err != nil {
		return version, false, err
	}
	defer func() { _ = rows.Close() }() // rows.Err reports the error
	for rows.Next() {
		var name, value string
		if err = rows.Scan(&name, &value); err != nil {
			return version, false, err
		}
		galera = value == "ON"
	}
	return version, galera, rows.Err()
}

// size returns about how many rows and bytes a table has; 0 for one that is not there.
func (s *Schema) size(ctx context.Context, pool *sql.DB, table string) (rows, bytes int64, err error) {
	exists, err := s.hasTable(ctx, pool, table)
	if err != nil || !exists {
		return 0, 0, err
	}
	if s.db.Dialect() == sqlkit.SQLite {
		err = pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&rows)
		return rows, 0, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	// MySQL answers with figures of the last day otherwise. MariaDB has no such variable.
	_, _ = conn.ExecContext(ctx, "SET information_schema_stats_expiry = 0")
	err = conn.QueryRowContext(ctx, "SELECT COALESCE(table_rows, 0), COALESCE(data_length + index_length, 0) "+
		"FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", table).Scan(&rows, &bytes)
	return rows, bytes, err
}

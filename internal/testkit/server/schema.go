package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Schema is a schema with tables: a template or a copy of one. Its methods are not safe for concurrent use.
type Schema struct {
	Name, DSN string
	template  *Schema // nil: this is a template
	tables    []string
	filled    []string // the tables that have rows in the template
}

// NewTemplate creates a schema on the DSN's server, and calls migrate to create its tables and initial rows.
func NewTemplate(
	ctx context.Context, dsn, name string, migrate func(ctx context.Context, dsn string) error,
) (*Schema, error) {
	own, err := CreateSchema(ctx, dsn, name)
	if err != nil {
		return nil, err
	}
	s := &Schema{Name: name, DSN: own}
	if err = migrate(ctx, own); err == nil {
		err = s.look(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, DropSchema(ctx, dsn, name))
	}
	return s, nil
}

// look reads the names of the tables, and which of them have rows.
func (s *Schema) look(ctx context.Context) (err error) {
	if s.tables, err = s.names(ctx,
		"SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"); err != nil {
		return err
	}
	for _, table := range s.tables {
		rows, err := s.names(ctx, "SELECT '' FROM `"+table+"` LIMIT 1")
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			s.filled = append(s.filled, table)
		}
	}
	return nil
}

// names returns the names that a query finds.
func (s *Schema) names(ctx context.Context, query string) (names []string, err error) {
	db, err := sql.Open("mysql", s.DSN)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Copy creates a schema with the same tables and rows.
func (s *Schema) Copy(ctx context.Context, name string) (*Schema, error) {
	dsn, err := CreateSchema(ctx, s.DSN, name)
	if err != nil {
		return nil, err
	}
	c := &Schema{Name: name, DSN: dsn, template: s, tables: s.tables, filled: s.filled}
	var statements []string
	for _, table := range c.tables {
		statements = append(statements, fmt.Sprintf("CREATE TABLE %#q LIKE %#q.%#q", table, s.Name, table))
	}
	if err := c.exec(ctx, append(statements, c.fill()...)); err != nil {
		return nil, errors.Join(err, c.Drop(ctx))
	}
	return c, nil
}

// Reset restores the template's rows and restarts the row numbers. It truncates used tables, because deleted rows would
// stay in the way of locks until the server purges them.
func (s *Schema) Reset(ctx context.Context) error {
	var used, statements []string
	for _, table := range s.tables {
		if slices.Contains(s.filled, table) {
			statements = append(statements, "DELETE FROM `"+table+"`")
			continue
		}
		used = append(used, fmt.Sprintf("SELECT '%s' FROM DUAL WHERE EXISTS (SELECT 1 FROM `%[1]s`)", table))
	}
	used = append(used,
		"SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND auto_increment > 1")
	tables, err := s.names(ctx, strings.Join(used, " UNION "))
	if err != nil {
		return err
	}
	for _, table := range tables {
		statements = append(statements, "TRUNCATE TABLE `"+table+"`")
	}
	return s.exec(ctx, append(statements, s.fill()...))
}

// fill returns the statements that copy the template's rows into empty tables.
func (s *Schema) fill() (statements []string) {
	for _, table := range s.filled {
		statements = append(statements, fmt.Sprintf("INSERT INTO %#q SELECT * FROM %#q.%#q",
			table, s.template.Name, table))
	}
	return statements
}

// Drop drops the schema.
func (s *Schema) Drop(ctx context.Context) error { return DropSchema(ctx, s.DSN, s.Name) }

// exec runs statements in the schema, in one round trip.
func (s *Schema) exec(ctx context.Context, statements []string) error {
	c, err := mysql.ParseDSN(s.DSN)
	if err != nil {
		return err
	}
	c.MultiStatements = true
	return execAs(ctx, c, strings.Join(statements, ";"))
}

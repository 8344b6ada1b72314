package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/migrations"
)

// formatTable has one row: the format of what is stored, and the ledger's own id. The migration's first statements
// make it.
const formatTable = "tb_format"

// firstVersion is the least number of a migration of this program. Those below are of versions whose ledgers it does
// not read, and which refuse this one's, as they miss their own.
const firstVersion = 1000

// Word returns what each partition in Redis must carry to be this ledger's: the format, which Raise leaves as it is
// there, and the ledger's id. The schema must be this program's (Migrate, Check).
func (s *Schema) Word(ctx context.Context) (string, error) {
	_, ledger, err := s.readFormat(ctx, s.db.Pool())
	return migrations.Format + "/" + ledger, sqlkit.ReadError("reading "+formatTable, err)
}

// Raise makes 1.0 refuse the ledger from now on, because something is switched on that it would misread. Repeating it
// changes nothing, and there is no way back. Errors: order.ErrUnavailable, order.ErrContended.
func (s *Schema) Raise(ctx context.Context) error {
	result, err := s.db.Pool().ExecContext(ctx,
		"UPDATE "+formatTable+" SET format = ? WHERE id = 1 AND format = ?", migrations.Raised, migrations.Format)
	if err != nil {
		return sqlkit.ReadError("raising the ledger's format", sqlkit.WriteError("changing "+formatTable, err))
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	s.log.InfoContext(ctx, "a feature was switched on that 1.0 would misread: from now on 1.0 refuses to start",
		"format", migrations.Raised)
	return nil
}

// isOurs reports whether this program reads a ledger of the format.
func isOurs(format string) bool { return format == migrations.Format || format == migrations.Raised }

// checkFormat returns ErrFormat unless the ledger carries a format that this program reads.
func (s *Schema) checkFormat(ctx context.Context, pool *sql.DB) error {
	switch format, _, err := s.readFormat(ctx, pool); {
	case err != nil:
		return fmt.Errorf("reading %s: %w", formatTable, err)
	case format == "":
		return s.formatError("it has none")
	case !isOurs(format):
		return s.formatError(fmt.Sprintf("it is %q", format))
	}
	return nil
}

// checkEmpty returns ErrFormat if another program has migrated the schema, or has begun to. It is called under the
// lease.
func (s *Schema) checkEmpty(ctx context.Context, pool *sql.DB) error {
	applied, err := s.appliedVersions(ctx, pool)
	if err != nil {
		return err
	}
	if err := s.refuseOld(applied); err != nil {
		return err
	}
	format, _, err := s.readFormat(ctx, pool)
	if err == nil && format != "" && !isOurs(format) {
		err = s.formatError(fmt.Sprintf("it is %q", format))
	}
	return err
}

// refuseOld returns ErrFormat for a schema with a migration of an earlier program.
func (s *Schema) refuseOld(applied map[int64]bool) error {
	var old []int64
	for version := range applied {
		if 0 < version && version < firstVersion {
			old = append(old, version)
		}
	}
	if len(old) == 0 {
		return nil
	}
	return s.formatError(fmt.Sprintf("its %s goes up to %d, from before formats had names",
		versionTable, slices.Max(old)))
}

// readFormat returns the format and the ledger's id, or nothing where the schema has none.
func (s *Schema) readFormat(ctx context.Context, pool *sql.DB) (format, ledger string, err error) {
	exists, err := s.hasTable(ctx, pool, formatTable)
	if err != nil || !exists {
		return "", "", err
	}
	err = pool.QueryRowContext(ctx, "SELECT format, ledger FROM "+formatTable+" WHERE id = 1").Scan(&format, &ledger)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return format, ledger, err
}

// formatError is ErrFormat with what is wrong with the database and what to do.
func (s *Schema) formatError(theirs string) error {
	todo := "give this version a schema of its own in SECKILL_MYSQL_DSN, or run the version that made this one"
	if s.db.Dialect() == sqlkit.SQLite {
		todo = fmt.Sprintf("move the data directory %s away, or run the version that made it",
			filepath.Dir(s.db.Place()))
	}
	return fmt.Errorf("%w in %s: %s, and this program's is %q. Nothing was changed: %s",
		ErrFormat, s.db.Place(), theirs, migrations.Format, todo)
}

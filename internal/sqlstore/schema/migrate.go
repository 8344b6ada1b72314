package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"seckill/internal/kit/retry"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/migrations"
)

// versionTable is where goose records which files were applied.
const versionTable = "tb_migration"

// migrationWait is how long one instance waits for another that migrates: longer than an ALTER gives way to others.
const migrationWait = 8 * time.Minute

// Errors of migrating.
var (
	// ErrOld: the schema lacks migrations that this program needs.
	ErrOld = errors.New("database schema is too old")
	// ErrBusy: another instance migrates, for eight minutes already or since this one stalled.
	ErrBusy = errors.New("another instance is migrating")
	// ErrFormat: the database holds what this program does not read. The error says what to do.
	ErrFormat = errors.New("the database has another format")
)

// Migrate applies the migrations that the schema lacks, and returns their file names. Instances that start together
// take turns, and all but the first find nothing to do. The next call finishes a migration that died half way:
// in MySQL its statements can be repeated, in SQLite it was rolled back. A schema that is newer than this
// program is left alone. It returns order.ErrUnavailable when the database is away, ErrBusy, and ErrFormat
// where nothing was changed.
func (s *Schema) Migrate(ctx context.Context) ([]string, error) {
	missing, err := s.missing(ctx)
	var applied []string
	if err == nil && len(missing) > 0 {
		applied, err = s.migrateAlone(ctx)
	}
	if err == nil {
		err = s.checkFormat(ctx, s.db.Pool())
	}
	return applied, sqlkit.ReadError(fmt.Sprintf("migrating the %s schema", s.db.Dialect()), err)
}

// migrateAlone migrates while no other instance does. SQLite needs no lease: one process has the file.
func (s *Schema) migrateAlone(ctx context.Context) ([]string, error) {
	if s.db.Dialect() == sqlkit.SQLite {
		return s.migrate(ctx, s.db.Pool())
	}
	lease, err := s.newLease(ctx)
	if err != nil {
		return nil, err
	}
	taken, err := s.awaitLease(ctx, lease)
	if err != nil || !taken {
		return nil, err
	}
	applied, err := s.migrateUnder(ctx, lease)
	// Without this, the other instances would have to wait until the lease expires. If this instance has lost the lease
	// meanwhile, releasing it changes nothing: the new holder keeps it.
	if errRelease := lease.release(context.WithoutCancel(ctx)); errRelease != nil {
		s.log.WarnContext(ctx, "the lease of migrating was not released", "error", errRelease)
	}
	return applied, err
}

// migrateUnder migrates while it keeps the lease.
func (s *Schema) migrateUnder(ctx context.Context, lease *lease) ([]string, error) {
	renewing, stop := context.WithCancel(ctx)
	var renewals sync.WaitGroup
	defer renewals.Wait()
	defer stop()
	renewals.Go(func() { lease.keep(renewing) })
	pool := sql.OpenDB(lease.guard(s.db.DDL()))
	applied, err := s.migrate(ctx, pool)
	return applied, errors.Join(err, pool.Close())
}

// awaitLease waits for the lease, and reports whether it got it; it does not if another instance migrates meanwhile.
func (s *Schema) awaitLease(ctx context.Context, lease *lease) (bool, error) {
	for deadline := time.Now().Add(migrationWait); ; {
		if taken, err := lease.take(ctx); taken || err != nil {
			return taken, err
		}
		if missing, err := s.missing(ctx); len(missing) == 0 || err != nil {
			return false, err
		}
		if time.Now().After(deadline) {
			return false, fmt.Errorf("%w: no lease within %v", ErrBusy, migrationWait)
		}
		if retry.Sleep(ctx, leasePoll); ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
}

func (s *Schema) migrate(ctx context.Context, pool *sql.DB) (applied []string, err error) {
	versions, err := s.versionStore()
	if err != nil {
		return nil, err
	}
	if err := s.checkEmpty(ctx, pool); err != nil {
		return nil, err
	}
	if err := s.ensureVersionTable(ctx, pool, versions); err != nil {
		return nil, err
	}
	files, err := fs.Sub(migrations.FS, string(s.db.Dialect()))
	if err != nil {
		return nil, fmt.Errorf("opening the embedded migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectCustom, pool, files,
		goose.WithStore(versions), goose.WithDisableGlobalRegistry(true), goose.WithSlog(s.log))
	if err != nil {
		return nil, fmt.Errorf("reading the embedded migrations: %w", err)
	}
	for { // one at a time: on large tables some take minutes, and the log says how far it is
		r, err := provider.UpByOne(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return applied, nil
		}
		if err != nil {
			return applied, fmt.Errorf("applying a migration: %w", err)
		}
		applied = append(applied, r.Source.Path)
		level := slog.LevelDebug // an empty schema has all of them within milliseconds
		if r.Duration >= time.Second {
			level = slog.LevelInfo
		}
		s.log.Log(ctx, level, "migration applied", "file", r.Source.Path, "took", r.Duration)
	}
}

// Check returns ErrOld, with the files that are missing, when the schema lacks migrations, and ErrFormat
// for one of another format. It changes nothing and needs no right to.
func (s *Schema) Check(ctx context.Context) error {
	missing, err := s.missing(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("checking the %s schema: %w", s.db.Dialect(), err)
	case len(missing) > 0:
		return fmt.Errorf("%w: it lacks %s", ErrOld, strings.Join(missing, ", "))
	}
	return s.checkFormat(ctx, s.db.Pool())
}

// missing returns the names of the migrations that have not been applied.
func (s *Schema) missing(ctx context.Context) ([]string, error) {
	applied, err := s.appliedVersions(ctx, s.db.Pool())
	if err != nil {
		return nil, err
	}
	if err := s.refuseOld(applied); err != nil {
		return nil, err
	}
	files, err := fs.Glob(migrations.FS, path.Join(string(s.db.Dialect()), "*.sql"))
	if err != nil {
		return nil, fmt.Errorf("listing the embedded migrations: %w", err)
	}
	var missing []string
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, fmt.Errorf("naming the embedded migrations: %w", err)
		}
		if !applied[version] {
			missing = append(missing, path.Base(file))
		}
	}
	return missing, nil
}

func (s *Schema) appliedVersions(ctx context.Context, pool *sql.DB) (map[int64]bool, error) {
	versions, err := s.versionStore()
	if err != nil {
		return nil, err
	}
	exists, err := s.hasTable(ctx, pool, versionTable)
	if err != nil || !exists {
		return nil, err
	}
	rows, err := versions.ListMigrations(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", versionTable, err)
	}
	applied := make(map[int64]bool, len(rows))
	for _, row := range rows {
		applied[row.Version] = row.IsApplied
	}
	return applied, nil
}

// versionStore returns goose's access to the table of migrations.
func (s *Schema) versionStore() (database.Store, error) {
	name := database.DialectMySQL
	if s.db.Dialect() == sqlkit.SQLite {
		name = database.DialectSQLite3
	}
	versions, err := database.NewStore(name, versionTable)
	return versions, sqlkit.Wrapf(err, "preparing the table of migrations")
}

// ensureVersionTable creates the table of migrations with its first row. Goose does so too, but not when a process
// died between the two, which MySQL does not do as one step.
func (s *Schema) ensureVersionTable(ctx context.Context, pool *sql.DB, versions database.Store) error {
	exists, err := s.hasTable(ctx, pool, versionTable)
	if err != nil {
		return err
	}
	if !exists {
		if err := versions.CreateVersionTable(ctx, pool); err != nil {
			return fmt.Errorf("creating %s: %w", versionTable, err)
		}
	}
	rows, err := versions.ListMigrations(ctx, pool)
	if err != nil {
		return fmt.Errorf("reading %s: %w", versionTable, err)
	}
	if len(rows) == 0 {
		if err := versions.Insert(ctx, pool, database.InsertRequest{Version: 0}); err != nil {
			return fmt.Errorf("filling %s: %w", versionTable, err)
		}
	}
	return nil
}

func (s *Schema) hasTable(ctx context.Context, pool *sql.DB, name string) (bool, error) {
	query := "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
	if s.db.Dialect() == sqlkit.SQLite {
		query = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	}
	var n int
	if err := pool.QueryRowContext(ctx, query, name).Scan(&n); err != nil {
		return false, fmt.Errorf("looking for %s: %w", name, err)
	}
	return n > 0, nil
}

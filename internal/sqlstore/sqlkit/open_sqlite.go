package sqlkit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	gormsqlite "gorm.io/driver/sqlite"
	"gorm.io/gorm"
	_ "modernc.org/sqlite" // the driver named "sqlite", in pure Go
)

// OpenSQLite opens the ledger in a file, which it creates if it is missing. The caller must ensure that only one
// process at a time has it open. Every commit is on the disk before it returns.
func OpenSQLite(ctx context.Context, path string, o Options) (*DB, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	dsn, err := sqliteDSN(path)
	if err != nil {
		return nil, err
	}
	pool, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	pool.SetMaxOpenConns(o.MaxConns)
	pool.SetMaxIdleConns(o.MaxConns)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, err), pool.Close())
	}
	db, err := gorm.Open(gormsqlite.New(gormsqlite.Config{DriverName: "sqlite", Conn: pool}), gormConfig())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening gorm on %s: %w", path, err), pool.Close())
	}
	d := &DB{
		db: db, pool: pool, permits: newPermits(o), dialect: SQLite, place: path, now: o.Now, log: o.Log,
		maxConns: o.MaxConns, currency: o.Currency, zone: o.Zone, writer: make(chan struct{}, 1),
	}
	d.writer <- struct{}{}
	if err := d.bound(db); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return d, nil
}

// sqliteDSN returns the file as a URI, so that no character of its name is read as a parameter.
func sqliteDSN(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("locating %s: %w", path, err)
	}
	q := url.Values{}
	q.Add("_pragma", "busy_timeout(10000)") // first, because switching to WAL may have to wait too
	q.Add("_pragma", "journal_mode(WAL)")
	q.Add("_pragma", "synchronous(FULL)") // flushed at every commit
	q.Add("_pragma", "secure_delete(ON)") // what a purge deletes, or somebody who was forgotten, is gone from the file
	// A transaction that reads first and writes later fails if another one wrote in between. With this, it takes the
	// write lock at its beginning, and waits for it.
	q.Set("_txlock", "immediate")
	q.Set("_time_format", "sqlite")
	q.Set("_timezone", "UTC")
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: q.Encode()}).String(), nil
}

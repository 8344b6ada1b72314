package sqlkit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/day"
	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

// DB is the ledger's database. It is safe for concurrent use.
type DB struct {
	db       *gorm.DB
	pool     *sql.DB
	permits  *bulkhead.Bulkhead // permits to use the pool, by class of callers
	maxConns int
	dialect  Dialect
	place    string // for people: the schema and its server, or the file
	now      func() time.Time
	log      *slog.Logger
	currency string
	zone     *time.Location
	// before runs before each transaction that writes.
	before []func(ctx context.Context, db *gorm.DB) error
	// writer holds a token while no transaction writes; nil where the database queues writers itself. SQLite lets
	// waiting writers poll, so that some starve; here they queue.
	writer chan struct{}
	// failed is the last transaction, if it found the database away, or its disk full; nil after a commit.
	failed atomic.Pointer[failure]
	// ddl makes connections for DDL, which may take longer than statements for orders; nil for SQLite.
	ddl driver.Connector
}

// failure is an error of a transaction.
type failure struct {
	at  time.Time
	err error
}

// Dialect is the SQL dialect of a database: it chooses the folder of migrations, and the few statements that differ.
type Dialect string

// The dialects.
const (
	MySQL  Dialect = "mysql" // and MariaDB
	SQLite Dialect = "sqlite"
)

// A transaction that the database ended because of another one is tried MaxTries times, with a pause that doubles each
// time.
const (
	MaxTries   = 5
	retryPause = 5 * time.Millisecond
)

// writerWait is how long a transaction waits for its turn to write in SQLite.
const writerWait = 10 * time.Second

// gormConfig restricts GORM to writing statements: it opens no transactions of its own, prepares nothing (a batch's
// text is sent once, with its values), and logs no statements.
func gormConfig() *gorm.Config {
	return &gorm.Config{
		SkipDefaultTransaction:   true,
		DisableNestedTransaction: true,
		DisableAutomaticPing:     true,
		Logger:                   logger.Discard,
	}
}

// Ping returns nil if the database answers a query of a table: a Galera node without the majority answers pings, and
// SELECT 1. After a failed write it also tries to write: on a full disk everything can still be read.
func (d *DB) Ping(ctx context.Context) error {
	if err := d.read(ctx); err != nil {
		return err
	}
	switch failed := d.failed.Load(); {
	case failed == nil:
		return nil
	case d.now().Sub(failed.at) < tryEvery:
		return fmt.Errorf("%w: the last transaction failed: %w", order.ErrUnavailable, failed.err)
	}
	return ReadError("trying a transaction", d.TryWrite(ctx))
}

// tryEvery bounds how often Ping tries to write. A server whose disk is full may keep each transaction waiting, and its
// connection with it, although nobody waits for the answer any more.
const tryEvery = 30 * time.Second

// triedFence is the row that TryWrite writes.
const triedFence = "check"

// TryWrite writes a row without a meaning, in a transaction.
func (d *DB) TryWrite(ctx context.Context) error {
	return d.WriteRetry(ctx, func(tx *gorm.DB) error {
		return tx.Save(&FenceRow{Name: triedFence, Token: d.now().UnixMicro()}).Error
	})
}

// read makes a query of a table that returns no data.
func (d *DB) read(ctx context.Context) error {
	permit, err := d.permits.Acquire(ctx)
	if err != nil {
		return ReadError("ping", err)
	}
	defer permit.Release()
	var none int
	return ReadError("ping", d.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM tb_setting WHERE FALSE").Scan(&none))
}

// Before makes prepare run before each transaction that writes, outside of it. prepare may read: no rows are locked
// yet, so nobody waits for that. Its error ends the write, with nothing written. Call Before before the database is
// used.
func (d *DB) Before(prepare func(ctx context.Context, db *gorm.DB) error) {
	d.before = append(d.before, prepare)
}

// Dialect returns the database's dialect.
func (d *DB) Dialect() Dialect { return d.dialect }

// Pool returns the connections, for measuring their use, and for the statements of migrations, which use neither
// permits nor GORM.
func (d *DB) Pool() *sql.DB { return d.pool }

// DDL returns the connector for DDL, whose answers may take minutes; nil for SQLite.
func (d *DB) DDL() driver.Connector { return d.ddl }

// Place names the schema and its server, or the file, for people.
func (d *DB) Place() string { return d.place }

// Log returns the logger for the database's users.
func (d *DB) Log() *slog.Logger { return d.log }

// Close closes all connections. Transactions that are still open are rolled back.
func (d *DB) Close() error {
	err := d.pool.Close()
	return Wrapf(err, "closing the %s pool", d.dialect)
}

// Read returns a session for statements outside transactions. Each takes a permit of the pool while it runs: results
// are read with Find, Take, Pluck and Count, and not with Scan or Rows, which would keep the connection for longer
// than the permit.
func (d *DB) Read(ctx context.Context) *gorm.DB { return d.db.WithContext(ctx) }

// Write runs f in one transaction at READ COMMITTED and commits, or rolls back when f fails. It returns
// order.ErrUnknownChange if the answer to COMMIT was lost. With any other error, certainly nothing was written.
func (d *DB) Write(ctx context.Context, f func(tx *gorm.DB) error) error {
	if d.writer != nil {
		if err := d.awaitTurn(ctx); err != nil {
			return err
		}
		defer func() { d.writer <- struct{}{} }()
	}
	permit, err := d.permits.Acquire(ctx)
	if err != nil {
		return err
	}
	defer permit.Release()
	// After all waits, so that the results of prepare are fresh when the transaction begins.
	session := d.db.WithContext(d.permits.Holding(ctx))
	for _, prepare := range d.before {
		if err := prepare(ctx, session); err != nil {
			return err
		}
	}
	var after commits
	committing := false
	err = d.db.WithContext(context.WithValue(ctx, commitsKey{}, &after)).Transaction(func(tx *gorm.DB) error {
		err := f(tx)
		committing = err == nil
		return err
	})
	if committing {
		err = commitError(err)
	}
	if err != nil {
		d.noteFailure(ctx, err)
		return err
	}
	d.failed.Store(nil)
	after.run()
	return nil
}

// noteFailure remembers that a transaction found the database away or its disk full, and leaves a read-only server.
func (d *DB) noteFailure(ctx context.Context, err error) {
	if ctx.Err() == nil && IsAway(err) && !IsContended(err) || isFull(err) {
		d.failed.Store(&failure{d.now(), err})
	}
	if IsReadOnly(err) {
		// The unused connections lead to a server that is read-only since a failover, for as long as they live. New
		// ones go where the address points now.
		d.pool.SetMaxIdleConns(0)
		d.pool.SetMaxIdleConns(d.maxConns)
	}
}

// awaitTurn waits until no other transaction writes, for a bounded time.
func (d *DB) awaitTurn(ctx context.Context) error {
	turn, cancel := context.WithTimeout(ctx, writerWait)
	defer cancel()
	select {
	case <-d.writer:
		return nil
	case <-turn.Done():
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%w: others have written for %v", bulkhead.ErrFull, writerWait)
}

// WriteRetry is Write with retries on deadlock and lock timeout, for callers that do not retry themselves. f runs once
// for each try and must not keep anything of the previous try.
func (d *DB) WriteRetry(ctx context.Context, f func(tx *gorm.DB) error) error {
	for try := 1; ; try++ {
		err := d.Write(ctx, f)
		if try == MaxTries || !IsContended(err) {
			return err
		}
		if retry.Sleep(ctx, retryPause<<try); ctx.Err() != nil { // the other transaction needs time to finish
			return err
		}
	}
}

// WriteAt is WriteRetry for a transaction that begins by reading the ledger's time.
func (d *DB) WriteAt(ctx context.Context, f func(tx *gorm.DB, now time.Time) error) error {
	return d.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := d.LedgerTime(tx)
		if err != nil {
			return err
		}
		return f(tx, now)
	})
}

// Currency returns the currency of all amounts, a code of ISO 4217.
func (d *DB) Currency() string { return d.currency }

// Midnight returns the beginning of a moment's day.
func (d *DB) Midnight(at time.Time) time.Time { return day.Begin(at, d.zone) }

// LedgerTime returns the time by the database server's clock, so that an instance with a wrong clock expires nothing
// early; without a server (SQLite), this process's time. tx is a transaction or a session: in a transaction, read it
// after locking rows, so that times of one order never go backwards.
func (d *DB) LedgerTime(tx *gorm.DB) (time.Time, error) {
	if d.dialect == SQLite {
		return d.Clock(), nil
	}
	var now time.Time
	if err := tx.Raw("SELECT UTC_TIMESTAMP(3)").Find(&now).Error; err != nil {
		return now, fmt.Errorf("reading the clock: %w", err)
	}
	return now, nil
}

// LedgerClock returns the current time by LedgerTime's clock, as a value or an SQL expression, for use as an argument
// of a statement outside transactions.
func (d *DB) LedgerClock() any {
	if d.dialect == SQLite {
		return d.Clock()
	}
	return gorm.Expr("UTC_TIMESTAMP(3)")
}

// Clock returns this process's time as the tables keep it. Rows of orders carry LedgerTime.
func (d *DB) Clock() time.Time { return d.now().UTC().Truncate(time.Millisecond) }

// commits are the functions to be called once a transaction is committed. Its context has them.
type commits []func()

type commitsKey struct{}

func (c *commits) run() {
	for _, f := range *c {
		f()
	}
}

// AfterCommit registers f to be called once the transaction is committed. f is not called if the answer to COMMIT was
// lost. f must not block.
func AfterCommit(tx *gorm.DB, f func()) {
	if c, in := tx.Statement.Context.Value(commitsKey{}).(*commits); in {
		*c = append(*c, f)
	}
}

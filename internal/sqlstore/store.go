package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"seckill/internal/bulkhead"
)

// Store is the ledger. It is safe for concurrent use.
type Store struct {
	db       *gorm.DB
	pool     *sql.DB
	permits  *bulkhead.Bulkhead // of the pool, for the classes of callers
	maxConns int
	dialect  dialect
	place    string // for people: the schema and its server, or the file
	now      func() time.Time
	log      *slog.Logger
	terms    *termsCache
	// subscribed are the shops with a webhook endpoint.
	subscribed *subscribedShops
	// couponKey makes new codes.
	couponKey *couponKey
	// writer holds a token while no transaction writes; nil where the database queues writers itself. SQLite lets waiting
	// writers poll, so that some starve; here they queue.
	writer chan struct{}
	// ddl makes connections for DDL, which may take longer than any order may; nil for SQLite.
	ddl               driver.Connector
	migrationLeaseFor time.Duration // tests shorten it
}

// dialect names a folder of migrations and the few things that differ.
type dialect string

const (
	mysqlDialect  dialect = "mysql"
	sqliteDialect dialect = "sqlite"
)

// batchRows is how many rows one INSERT or one IN list holds at most. Larger ones are not faster, and SQLite allows
// 32,766 placeholders.
const batchRows = 500

// A transaction that the database ended because of another is tried maxTries times, with a pause that doubles each time.
const (
	maxTries   = 5
	retryPause = 5 * time.Millisecond
)

// writerWait is how long a transaction waits for its turn to write in SQLite.
const writerWait = 10 * time.Second

// gormConfig keeps GORM to writing statements: transactions are opened where they are meant, nothing is prepared
// (a batch's text is sent once, with its values), and nothing is logged per statement.
func gormConfig() *gorm.Config {
	return &gorm.Config{
		SkipDefaultTransaction:   true,
		DisableNestedTransaction: true,
		DisableAutomaticPing:     true,
		Logger:                   logger.Discard,
	}
}

// Ping reports whether the database answers what is asked of its tables: a Galera node without the majority answers
// pings, and SELECT 1.
func (s *Store) Ping(ctx context.Context) error {
	permit, err := s.permits.Acquire(ctx)
	if err != nil {
		return readError("ping", err)
	}
	defer permit.Release()
	var none int
	if err := s.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM tb_setting WHERE FALSE").Scan(&none); err != nil {
		return readError("ping", err)
	}
	return nil
}

// Connections returns how the connections to the database are used.
func (s *Store) Connections() sql.DBStats { return s.pool.Stats() }

// Close closes all connections. Transactions that are still open are rolled back.
func (s *Store) Close() error {
	if err := s.pool.Close(); err != nil {
		return fmt.Errorf("closing the %s pool: %w", s.dialect, err)
	}
	return nil
}

// read returns a session for statements outside transactions. Each takes a permit of the pool while it runs: results are read
// with Find, Take, Pluck and Count, and not with Scan or Rows, which would keep the connection for longer than the permit.
func (s *Store) read(ctx context.Context) *gorm.DB { return s.db.WithContext(ctx) }

// write runs f in one transaction at READ COMMITTED and commits, or rolls back when f fails. Only when the error came
// from f is it certain that nothing was written. Where f needs the key of new codes and it is not known, f runs a second time.
func (s *Store) write(ctx context.Context, f func(tx *gorm.DB) error) error {
	if s.writer != nil {
		if err := s.awaitTurn(ctx); err != nil {
			return err
		}
		defer func() { s.writer <- struct{}{} }()
	}
	permit, err := s.permits.Acquire(ctx)
	if err != nil {
		return err
	}
	defer permit.Release()
	transact := func(f func(tx *gorm.DB) error) error { return s.transact(ctx, f) }
	err = transact(f)
	if errors.Is(err, errKeyUnknown) { // all is rolled back: nobody waits behind its rows while the key is read
		if _, err = s.readCouponKeys(ctx, transact); err == nil || errors.Is(err, ErrKeySpoilt) {
			err = transact(f)
		}
	}
	if isReadOnly(err) {
		s.dropIdle()
	}
	return err
}

// transact is one transaction of a caller who has a permit of the pool, and the turn to write.
func (s *Store) transact(ctx context.Context, f func(tx *gorm.DB) error) error {
	// Behind all waits: what is known is to be new when the transaction begins.
	if err := s.subscribed.refresh(s.db.WithContext(s.permits.Holding(ctx))); err != nil {
		return err
	}
	return s.db.WithContext(ctx).Transaction(f)
}

// awaitTurn waits until no other transaction writes, for a bounded time.
func (s *Store) awaitTurn(ctx context.Context) error {
	turn, cancel := context.WithTimeout(ctx, writerWait)
	defer cancel()
	select {
	case <-s.writer:
		return nil
	case <-turn.Done():
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%w: others have written for %v", bulkhead.ErrFull, writerWait)
}

// writeRetry is write with retries on deadlock and lock timeout, for callers that do not retry themselves. f runs once for
// each try and must not keep anything of the one before.
func (s *Store) writeRetry(ctx context.Context, f func(tx *gorm.DB) error) error {
	for try := 1; ; try++ {
		err := s.write(ctx, f)
		if try == maxTries || !isContended(err) {
			return err
		}
		pause := time.NewTimer(retryPause << try) // the other one needs time to finish
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

// dropIdle closes the unused connections. After a failover they lead to a server that is now read-only, and would for as
// long as they live; a new one goes where the address points now.
func (s *Store) dropIdle() {
	s.pool.SetMaxIdleConns(0)
	s.pool.SetMaxIdleConns(s.maxConns)
}

// ledgerTime returns the time by the database's clock where there is a server, so that an instance with a wrong clock
// expires nothing early. As it is read once the rows are locked, times of one order never go backwards.
func (s *Store) ledgerTime(tx *gorm.DB) (time.Time, error) {
	if s.dialect == sqliteDialect {
		return s.clock(), nil
	}
	var now time.Time
	if err := tx.Raw("SELECT UTC_TIMESTAMP(3)").Row().Scan(&now); err != nil {
		return now, fmt.Errorf("reading the clock: %w", err)
	}
	return now, nil
}

// ledgerClock is the time by the same clock as an argument of a statement outside transactions.
func (s *Store) ledgerClock() any {
	if s.dialect == sqliteDialect {
		return s.clock()
	}
	return gorm.Expr("UTC_TIMESTAMP(3)")
}

// clock returns this process's time as the tables keep it.
func (s *Store) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

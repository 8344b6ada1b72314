package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Store is the ledger. It is safe for concurrent use.
type Store struct {
	db       *gorm.DB
	pool     *sql.DB
	maxConns int
	dialect  dialect
	now      func() time.Time
	log      *slog.Logger
	prices   *priceCache
	// writer holds a token while nobody writes; nil where the database queues writers itself. SQLite lets waiting
	// writers poll, so that the unlucky starve; here they queue.
	writer chan struct{}
	// migrationPool opens connections for DDL, which may take longer than any order may. The caller closes it.
	migrationPool func() (*sql.DB, error)
}

var (
	_ voucher.Ledger   = (*Store)(nil)
	_ order.Ledger     = (*Store)(nil)
	_ order.SaleLedger = (*Store)(nil)
	_ order.Rows       = (*Store)(nil)
)

// dialect names a folder of migrations and the few things that differ.
type dialect string

const (
	mysqlDialect  dialect = "mysql"
	sqliteDialect dialect = "sqlite"
)

// batchRows is how many rows one INSERT or one IN list holds at most. Larger ones are not faster, and SQLite allows
// 32,766 placeholders.
const batchRows = 500

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

// Ping asks the database for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.PingContext(ctx); err != nil {
		return readError("ping", err)
	}
	return nil
}

// Close closes all connections. Transactions that are still open are rolled back.
func (s *Store) Close() error {
	if err := s.pool.Close(); err != nil {
		return fmt.Errorf("closing the %s pool: %w", s.dialect, err)
	}
	return nil
}

// read returns a session for statements outside transactions.
func (s *Store) read(ctx context.Context) *gorm.DB { return s.db.WithContext(ctx) }

// write runs f in one transaction at READ COMMITTED and commits, or rolls back when f fails. Only when the error came
// from f is it certain that nothing was written.
func (s *Store) write(ctx context.Context, f func(tx *gorm.DB) error) error {
	if s.writer != nil {
		select {
		case <-s.writer:
			defer func() { s.writer <- struct{}{} }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := s.db.WithContext(ctx).Transaction(f)
	if isReadOnly(err) {
		s.dropIdle()
	}
	return err
}

// dropIdle closes the connections that nobody uses. After a failover they lead to a server that now only reads, and
// would for as long as they live; a new one goes where the address points now.
func (s *Store) dropIdle() {
	s.pool.SetMaxIdleConns(0)
	s.pool.SetMaxIdleConns(s.maxConns)
}

// clock returns the time as the tables keep it.
func (s *Store) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

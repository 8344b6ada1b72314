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
	terms    *termsCache
	// writer holds a token while nobody writes; nil where the database queues writers itself. SQLite lets waiting
	// writers poll, so that the unlucky starve; here they queue.
	writer chan struct{}
	// migrationPool opens connections for DDL, which may take longer than any order may. The caller closes it.
	migrationPool func() (*sql.DB, error)
}

var (
	_ voucher.Ledger        = (*Store)(nil)
	_ voucher.Changes       = (*Store)(nil)
	_ order.Ledger          = (*Store)(nil)
	_ order.SaleLedger      = (*Store)(nil)
	_ order.Rows            = (*Store)(nil)
	_ order.Books           = (*Store)(nil)
	_ order.Payments        = (*Store)(nil)
	_ order.OperationLedger = (*Store)(nil)
	_ order.DueOrders       = (*Store)(nil)
	_ order.OpenSales       = (*Store)(nil)
	_ order.Accounts        = (*Store)(nil)
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

// A transaction that met another is tried maxTries times. Between two tries is a pause, twice as long each time.
const (
	maxTries   = 5
	retryPause = 5 * time.Millisecond
)

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

// Connections returns how the connections to the database are used.
func (s *Store) Connections() sql.DBStats { return s.pool.Stats() }

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

// writeAgain is write for transactions of which nobody outside repeats those that the database ended because they stood
// in another's way. f runs once for each try and must not remember the one before.
func (s *Store) writeAgain(ctx context.Context, f func(tx *gorm.DB) error) error {
	for try := 1; ; try++ {
		err := s.write(ctx, f)
		if try == maxTries || !isContended(err) {
			return err
		}
		pause := time.NewTimer(retryPause << try) // the other one needs a moment to finish
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

// dropIdle closes the connections that nobody uses. After a failover they lead to a server that now only reads, and
// would for as long as they live; a new one goes where the address points now.
func (s *Store) dropIdle() {
	s.pool.SetMaxIdleConns(0)
	s.pool.SetMaxIdleConns(s.maxConns)
}

// moment returns the ledger's time: that of the database's clock where there is a server, so that an instance with a
// wrong clock closes nothing early. Asked for once the rows are locked, times of one order never go backwards.
func (s *Store) moment(tx *gorm.DB) (time.Time, error) {
	if s.dialect == sqliteDialect {
		return s.clock(), nil
	}
	var now time.Time
	if err := tx.Raw("SELECT UTC_TIMESTAMP(3)").Row().Scan(&now); err != nil {
		return now, fmt.Errorf("reading the clock: %w", err)
	}
	return now, nil
}

// clock returns this process's time as the tables keep it.
func (s *Store) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

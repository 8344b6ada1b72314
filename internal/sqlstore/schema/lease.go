package schema

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/sqlstore/sqlkit"
)

// leaseTable has one row: who may change the schema, and until when by the database's clock.
const leaseTable = "tb_migration_lease"

// The actions on the lease's row. Times are in microseconds.
const (
	makeLeaseTable = "CREATE TABLE IF NOT EXISTS " + leaseTable + ` (
    id      TINYINT      NOT NULL,
    holder  VARCHAR(255) NOT NULL COMMENT 'who migrates; empty: nobody',
    expires DATETIME(3)  NOT NULL,
    version BIGINT       NOT NULL COMMENT 'raised by every change, so that each changes the row',
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`
	makeLease = "INSERT INTO " + leaseTable + " VALUES (1, '', UTC_TIMESTAMP(3), 0) ON DUPLICATE KEY UPDATE id = 1"
	takeLease = "UPDATE " + leaseTable + " SET holder = ?, expires = UTC_TIMESTAMP(3) + INTERVAL " +
		"? MICROSECOND, version = version + 1 WHERE id = 1 AND (holder IN ('', ?) OR expires <= UTC_TIMESTAMP(3) OR " +
		"expires > UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND)"
	renewLease = "UPDATE " + leaseTable +
		" SET expires = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, version = version + 1 " +
		"WHERE id = 1 AND holder = ?"
	releaseLease = "UPDATE " + leaseTable + " SET holder = '', version = version + 1 WHERE id = 1 AND holder = ?"
)

const (
	// leaseFor is how long the others wait for an instance that died while it migrated.
	leaseFor = 30 * time.Second
	// leasePoll is the time between two tries to get the lease.
	leasePoll = 200 * time.Millisecond
)

// lease is the right to change the schema, for one instance at a time. It is a row and not GET_LOCK, which
// each node of a Galera cluster has for itself.
//
// The database alone sets and compares the row's expiry, so no instance's clock counts; the nodes of one cluster must
// agree to within half of the lease. A lease that ends later than twice its length from now was taken before the clock
// was set back, and counts as expired. While a statement runs, however long it takes, another connection renews the
// lease. Before each statement the migrating connection renews it once more, or the migration ends: an instance that
// stalled and was replaced does nothing more.
//
// An instance may still die or be replaced while its statement runs, and MySQL goes on with the statement of a
// connection that is gone. The next holder runs the file from its beginning, so each statement must be repeatable: one
// that finds its change made (sqlkit.IsThere) counts as executed. DDL cannot be fenced any closer than that.
type lease struct {
	pool   *sql.DB // not the one that migrates
	log    *slog.Logger
	holder string
	length time.Duration
}

// newLease returns a lease that is not taken yet, in a table that exists.
func (s *Schema) newLease(ctx context.Context) (*lease, error) {
	for _, statement := range []string{makeLeaseTable, makeLease} {
		if _, err := s.db.Pool().ExecContext(ctx, statement); err != nil && !sqlkit.IsContended(err) {
			return nil, fmt.Errorf("preparing %s: %w", leaseTable, err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // it is for people
	}
	return &lease{
		pool: s.db.Pool(), log: s.log, holder: fmt.Sprintf("%.64s %s", host, rand.Text()), length: s.leaseFor,
	}, nil
}

// take takes the lease if nobody has it, and reports whether it did. Repeating it is harmless.
func (l *lease) take(ctx context.Context) (bool, error) {
	length := l.length.Microseconds()
	// The statement's time is that of its beginning. While it waits for the row, its holder may renew the lease:
	// later, and so until later than a lease from that time on. Twice the length is far from both.
	taken, err := l.change(ctx, takeLease, l.holder, length, l.holder, 2*length)
	if sqlkit.IsContended(err) { // on Galera: the change of another node came first
		return false, nil
	}
	return taken, err
}

// renew returns nil if the lease is still this instance's, and then it is so for its whole length again. It returns
// ErrBusy if another one has taken it.
func (l *lease) renew(ctx context.Context) error {
	var renewed bool
	var err error
	for try := 1; try == 1 || sqlkit.IsContended(err) && try <= sqlkit.MaxTries; try++ {
		renewed, err = l.change(ctx, renewLease, l.length.Microseconds(), l.holder)
	}
	if err == nil && !renewed {
		err = fmt.Errorf("%w: it has taken the lease over", ErrBusy)
	}
	return err
}

// release lets others have the lease at once.
func (l *lease) release(ctx context.Context) error {
	_, err := l.change(ctx, releaseLease, l.holder)
	return err
}

// change executes a statement and reports whether it has changed the row.
func (l *lease) change(ctx context.Context, statement string, args ...any) (bool, error) {
	r, err := l.pool.ExecContext(ctx, statement, args...)
	if err != nil {
		return false, fmt.Errorf("changing %s: %w", leaseTable, err)
	}
	n, err := r.RowsAffected()
	return n == 1, err
}

// keep renews the lease until ctx ends. It retries failures; guardedConn notices if the lease was lost.
func (l *lease) keep(ctx context.Context) {
	_ = periodic.Every(ctx, l.length/3, func(ctx context.Context) { _ = l.renew(ctx) })
}

// guard returns a connector whose connections execute nothing without the lease.
func (l *lease) guard(c driver.Connector) driver.Connector { return &guardedConnector{c, l} }

type guardedConnector struct {
	driver.Connector
	lease *lease
}

// Connect implements driver.Connector.
func (c *guardedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(mysqlConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T lacks methods of a MySQL connection", conn), conn.Close())
	}
	return &guardedConn{full, c.lease}, nil
}

// mysqlConn is what database/sql uses of the driver's connections.
//
//nolint:interfacebloat // without any of these, database/sql would use the connection otherwise
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

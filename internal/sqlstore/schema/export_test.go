package schema

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"
)

// WithLease returns the schema with another time for which an instance that died keeps others from migrating. A store
// makes a new Schema at each call, so the copy that is returned is the one to use.
func WithLease(s *Schema, length time.Duration) *Schema {
	shorter := *s
	shorter.leaseFor = length
	return &shorter
}

// NewLease returns what tries once to get the lease.
func NewLease(ctx context.Context, s *Schema) (take func(context.Context) (bool, error), err error) {
	l, err := s.newLease(ctx)
	if err != nil {
		return nil, err
	}
	return l.take, nil
}

// ErrDied is the error of MigrateDying.
var ErrDied = errors.New("the program has died")

// MigrateDying migrates, and returns ErrDied in place of the statement after the n-th. The lease is free afterwards.
func MigrateDying(ctx context.Context, s *Schema, n int) error {
	l, err := s.newLease(ctx)
	if err != nil {
		return err
	}
	if taken, err := l.take(ctx); !taken || err != nil {
		return errors.Join(ErrBusy, err)
	}
	pool := sql.OpenDB(&dyingConnector{l.guard(s.db.DDL()), &n})
	_, err = s.migrate(ctx, pool)
	return errors.Join(err, pool.Close(), l.release(ctx))
}

// dyingConnector makes connections that execute so many statements in all.
type dyingConnector struct {
	driver.Connector
	left *int
}

// Connect implements driver.Connector.
func (c *dyingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, _ := conn.(mysqlConn) // what guard returns
	return &dyingConn{full, c.left}, nil
}

type dyingConn struct {
	mysqlConn
	left *int
}

// ExecContext implements driver.ExecerContext.
func (c *dyingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if *c.left == 0 {
		return nil, ErrDied
	}
	*c.left--
	return c.mysqlConn.ExecContext(ctx, query, args)
}

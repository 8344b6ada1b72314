package schema

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/sqlstore/schema/ddl"
	"seckill/internal/sqlstore/sqlkit"
)

const (
	// columnWait is how many seconds an ALTER waits for the transactions that use its table. Whatever comes after it
	// waits behind it, so it gives way and comes again.
	columnWait = 2
	// indexWait is columnWait for an index, which waits when it begins and when it is built: giving way then throws a
	// whole build away.
	indexWait = 10
	// otherWait is how many seconds other statements wait: nothing waits behind these.
	otherWait = 60
	// alterTries is how often an ALTER comes, and alterPause the time between two of its tries.
	alterTries = 30
	alterPause = 2 * time.Second
)

// guardedConn renews the lease before each statement, and executes nothing when it is lost. It takes a change that was
// made already for made. An ALTER gives way to others again and again.
type guardedConn struct {
	mysqlConn
	lease *lease
}

// ExecContext implements driver.ExecerContext.
func (c *guardedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.execute(ctx, query, args)
	if sqlkit.IsThere(err) {
		c.lease.log.InfoContext(ctx, "what a statement adds is there already, and is taken for made",
			"statement", query, "answer", err)
		return driver.RowsAffected(0), nil
	}
	return result, err
}

func (c *guardedConn) execute(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	wait := alterWait(query)
	if wait == 0 {
		return c.once(ctx, query, args)
	}
	if err := c.setWait(ctx, wait); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		result, err := c.once(ctx, query, args)
		if !sqlkit.IsContended(err) || try == alterTries {
			if err == nil || sqlkit.IsThere(err) {
				if errBack := c.setWait(ctx, otherWait); errBack != nil {
					return nil, errBack
				}
			}
			return result, err
		}
		c.lease.log.WarnContext(ctx, "a transaction uses a table that is to be altered: trying again", "try", try,
			"of", alterTries, "statement", query, "error", err)
		if retry.Sleep(ctx, alterPause); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// once executes a statement under the lease.
func (c *guardedConn) once(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.lease.renew(ctx); err != nil {
		return nil, err
	}
	return c.mysqlConn.ExecContext(ctx, query, args)
}

func (c *guardedConn) setWait(ctx context.Context, seconds int) error {
	_, err := c.mysqlConn.ExecContext(ctx, fmt.Sprintf("SET lock_wait_timeout = %d", seconds), nil)
	return err
}

// alterWait returns how many seconds the statement waits for transactions at most, each time; 0 for one that nothing
// waits behind.
func alterWait(query string) int {
	for _, s := range ddl.Parse(query) {
		switch s.Kind {
		case ddl.AddColumn:
			return columnWait
		case ddl.AddIndex:
			return indexWait
		case ddl.Other, ddl.CreateTable, ddl.Fill:
		}
	}
	return 0
}

package sqlkit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/bulkhead"
)

// maxPermitWait is how long a caller waits for a connection at most, when those of their class are in use. It is
// short because a caller who waits for longer has given up in most cases, and because who can wait comes again.
const maxPermitWait = 2 * time.Second

// newPermits divides the pool among the classes of callers. It is as large as the pool, so that nobody waits in
// database/sql, which knows no classes and no end of waiting.
func newPermits(o Options) *bulkhead.Bulkhead {
	return bulkhead.New(o.MaxConns, min(o.Timeout, maxPermitWait), bulkhead.Stores()...)
}

// bound makes every statement of db wait for a permit of the pool, but those of a transaction, which has one (write).
func (d *DB) bound(db *gorm.DB) error {
	calls := db.Callback()
	return errors.Join(
		d.bind(calls.Create(), "gorm:create"), d.bind(calls.Query(), "gorm:query"),
		d.bind(calls.Update(), "gorm:update"),
		d.bind(calls.Delete(), "gorm:delete"), d.bind(calls.Raw(), "gorm:raw"), d.bind(calls.Row(), "gorm:row"),
	)
}

// callbacks is the part of GORM's callbacks that is used here: the steps of one statement, by name.
type callbacks interface {
	Get(name string) func(*gorm.DB)
	Replace(name string, fn func(*gorm.DB)) error
}

// bind wraps the step that sends the statement and reads its results to the end. The step gorm:row leaves the reading
// to its caller, who keeps a permit until then (streamed); with a mere Rows or Scan it would end when the first row
// has come, and a test looks for those.
func (d *DB) bind(c callbacks, step string) error {
	send := c.Get(step)
	err := c.Replace(step, func(db *gorm.DB) {
		if db.Error != nil || d.hasPermit(db) {
			send(db)
			return
		}
		permit, err := d.permits.Acquire(db.Statement.Context)
		if err != nil {
			_ = db.AddError(err) // it returns what it adds
			return
		}
		defer permit.Release()
		send(db)
	})
	return stepError(step, err)
}

func stepError(step string, err error) error {
	if err != nil {
		return fmt.Errorf("wrapping GORM's step %s: %w", step, err)
	}
	return nil
}

// hasPermit reports whether the statement is one of a transaction, or of streamed rows, or is only written: as a part
// of another one, which has a permit when GORM comes to it.
func (d *DB) hasPermit(db *gorm.DB) bool {
	_, inTransaction := db.Statement.ConnPool.(gorm.TxCommitter)
	return inTransaction || db.DryRun || d.permits.Held(db.Statement.Context)
}

// Streamed returns a session whose rows may be read one by one, until release is called.
func (d *DB) Streamed(ctx context.Context) (db *gorm.DB, release func(), err error) {
	permit, err := d.permits.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	return d.db.WithContext(d.permits.Holding(ctx)), permit.Release, nil
}

// Bulkhead returns what divides the connections among the classes of callers.
func (d *DB) Bulkhead() *bulkhead.Bulkhead { return d.permits }

package sqlkit

import (
	"errors"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/bulkhead"
)

// maxPermitWait is how long a caller waits at most for a connection of their class. It is short because most callers
// who wait for longer have given up, and the others retry.
const maxPermitWait = 2 * time.Second

// newPermits divides the pool among the classes of callers. There are as many permits as connections, so that nobody
// waits in database/sql, which has neither classes nor a bounded wait.
func newPermits(o Options) *bulkhead.Bulkhead {
	return bulkhead.New(o.MaxConns, min(o.Timeout, maxPermitWait), bulkhead.Stores()...)
}

// bound makes every statement of db wait for a permit of the pool, except the statements of a transaction, which
// already has one (Write).
func (d *DB) bound(db *gorm.DB) error {
	calls := db.Callback()
	return errors.Join(
		d.bind(calls.Create(), "gorm:create"), d.bind(calls.Query(), "gorm:query"),
		d.bind(calls.Update(), "gorm:update"),
		d.bind(calls.Delete(), "gorm:delete"), d.bind(calls.Raw(), "gorm:raw"), d.bind(calls.Row(), "gorm:row"),
	)
}

// callbacks has the methods of GORM's callbacks that are used here: the steps of one statement, by name.
type callbacks interface {
	Get(name string) func(*gorm.DB)
	Replace(name string, fn func(*gorm.DB)) error
}

// bind wraps the step that sends the statement and reads its results to the end, so that it holds a permit meanwhile.
// The step gorm:row leaves the reading to its caller, who must hold a permit until the end (Bulkhead.Holding). With a
// plain Rows or Scan the permit would end at the first row; a test finds such calls.
func (d *DB) bind(c callbacks, step string) error {
	send := c.Get(step)
	err := c.Replace(step, func(db *gorm.DB) {
		if db.Error != nil || d.hasPermit(db) {
			send(db)
			return
		}
		permit, err := d.permits.Acquire(db.Statement.Context)
		if err != nil {
			_ = db.AddError(err) // AddError returns the error that it adds
			return
		}
		defer permit.Release()
		send(db)
	})
	return Wrapf(err, "wrapping GORM's step %s", step)
}

// hasPermit reports whether the statement needs no permit of its own: it belongs to a transaction or to streamed rows,
// which have one, or is a dry run, whose text becomes a part of another statement.
func (d *DB) hasPermit(db *gorm.DB) bool {
	_, inTransaction := db.Statement.ConnPool.(gorm.TxCommitter)
	return inTransaction || db.DryRun || d.permits.Held(db.Statement.Context)
}

// Bulkhead returns the permits, which divide the connections among the classes of callers.
func (d *DB) Bulkhead() *bulkhead.Bulkhead { return d.permits }

// Package job runs the jobs that one instance at a time does for all: one loop of lease, fence and batch.
//
// Every instance runs every job. The one that gets the job's lock works through batches until nothing is left, and then
// looks again once in each interval; the others try for the lock as often.
//
// The lock only saves work. What a batch writes is fenced: the lock hands out a token that rises with each holder, a
// batch passes it to the ledger, and the ledger refuses tokens below the highest that it has seen
// (order.ErrSuperseded). So a holder that stalls past its lease and comes back changes nothing. Batches must be
// transactions that can be repeated: a process may die after any of them, and the next holder goes on with what is
// left.
package job

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/order"
)

// batchTimeout is how long one batch may take.
const batchTimeout = 30 * time.Second

// Job is work that comes in batches.
type Job struct {
	// Name names the job's lock: one of order's names of jobs.
	Name string
	// Does completes the log line "… failed; retrying".
	Does string
	// Every is how often the job looks for work when there was none, and how often it tries for the lock.
	Every time.Duration
	// Size is how many items a full batch has. One with fewer says that nothing is left for now.
	Size int
	// Rate is how many items a second the job works through at most, on average over a batch; 0: any number.
	Rate int
	// Batch works through one batch and returns how many items it had. Its context ends when the lock is lost, and
	// after half a minute.
	Batch func(ctx context.Context, token int64) (items int, err error)
}

// Run does the job, or waits for its turn, until ctx ends. It never returns an error: what fails is retried, by the
// instance that gets the lock then.
func (j Job) Run(ctx context.Context, locker order.FencedLocker, log *slog.Logger) error {
	for ctx.Err() == nil {
		err := locker.TryDoFenced(ctx, j.Name, j.turn)
		if err != nil && ctx.Err() == nil && !errors.Is(err, order.ErrBusy) {
			// ErrSuperseded too: a holder that has stalled gets it once. Locks whose tokens fell back get it until
			// they have caught up, and the job stands still meanwhile.
			log.WarnContext(ctx, j.Does+" failed; retrying", "error", err)
		}
		order.Sleep(ctx, j.Every)
	}
	return nil
}

// turn works until ctx ends, which it also does when the lock is lost, or until a batch fails.
func (j Job) turn(ctx context.Context, token int64) error {
	for ctx.Err() == nil {
		start := time.Now()
		call, cancel := context.WithTimeout(ctx, batchTimeout)
		items, err := j.Batch(call, token)
		cancel()
		if err != nil {
			return err
		}
		var pace time.Duration
		if j.Rate > 0 {
			pace = time.Duration(items) * time.Second / time.Duration(j.Rate)
		}
		if items < j.Size {
			pace = max(pace, j.Every)
		}
		order.Sleep(ctx, pace-time.Since(start))
	}
	return nil
}

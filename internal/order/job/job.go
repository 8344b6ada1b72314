// Package job runs the jobs that one instance does for all, with one loop of lease, fence and batch.
//
// Every instance runs every job. The instance that gets the job's lock works through batches until nothing is left, and
// then checks for work once per interval; the others try for the lock as often.
//
// The lock only saves work. The writes of a batch are fenced: the lock hands out a token that rises with each holder, a
// batch passes it to the ledger, and the ledger refuses tokens below the highest that it has seen
// (order.ErrSuperseded). So a holder that stalls past its lease and comes back changes nothing. Batches must be
// transactions that can be repeated: a process may die after any of them, and the next holder goes on with the rest.
package job

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

// batchTimeout is how long one batch may take.
const batchTimeout = 30 * time.Second

// Job is work that comes in batches.
type Job struct {
	// Name names the job's lock: one of order's names of jobs.
	Name string
	// Does says what the job does, for the log line "… failed; retrying".
	Does string
	// Every is how often the job checks for work after it found none, and how often an instance tries for the lock.
	Every time.Duration
	// Size is how many items a full batch has. A batch with fewer means that nothing is left for now.
	Size int
	// Rate is how many items per second the job may work through, on average over a batch; 0: no limit.
	Rate int
	// Batch works through one batch and returns how many items it had. Its context ends when the lock is lost, and
	// after half a minute.
	Batch func(ctx context.Context, token int64) (items int, err error)
}

// Run does the job, or waits for its turn, until ctx ends. It returns nil: after a failed batch, the next instance that
// gets the lock tries again.
func (j Job) Run(ctx context.Context, locker order.FencedLocker, log *slog.Logger) error {
	for ctx.Err() == nil {
		err := locker(ctx, j.Name, j.turn)
		if err != nil && ctx.Err() == nil && !errors.Is(err, order.ErrBusy) {
			// This includes ErrSuperseded. A holder that has stalled gets it once. If the locks' tokens fell back,
			// every holder gets it, and the job stands still, until they have caught up.
			log.WarnContext(ctx, j.Does+" failed; retrying", "error", err)
		}
		retry.Sleep(ctx, j.Every)
	}
	return nil
}

// turn works until a batch fails or ctx ends; losing the lock ends ctx too.
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
		retry.Sleep(ctx, pace-time.Since(start))
	}
	return nil
}

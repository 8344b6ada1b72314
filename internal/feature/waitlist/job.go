package waitlist

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/retry"
)

const (
	// lookEvery is how often the job looks for lists with a turn that is due.
	lookEvery = 100 * time.Millisecond
	// lookTimeout bounds one look.
	lookTimeout = 5 * time.Second
	// spared is how long the job skips a list after a failed turn, and how long it waits after a failed look.
	spared = time.Second
)

// Job takes the turns of all lists. Every instance runs it; if two work on one list, the lock on the sale's row makes
// one wait.
type Job struct {
	turns *Turns
	due   func(ctx context.Context) ([]int64, error)
	log   *slog.Logger

	mu    sync.Mutex
	awake map[int64]bool // lists whose turns are to be taken
	wake  chan struct{}  // of capacity 1
}

// NewJob returns the job; Run starts it. due returns open lists in which something is due, or order.ErrUnavailable.
func NewJob(turns *Turns, due func(ctx context.Context) ([]int64, error), log *slog.Logger) *Job {
	return &Job{turns: turns, due: due, log: log, awake: map[int64]bool{}, wake: make(chan struct{}, 1)}
}

// Wake makes the job take the turns of a list now. It does not wait for them.
func (j *Job) Wake(voucherID int64) {
	j.mu.Lock()
	j.awake[voucherID] = true
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Run takes turns until ctx ends, and retries failed ones. It always returns nil.
func (j *Job) Run(ctx context.Context) error {
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	failed := make(map[int64]time.Time) // when a list failed last
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
			j.look(ctx)
		case <-j.wake:
		}
		for id := range j.woken() {
			if time.Since(failed[id]) < spared {
				continue
			}
			delete(failed, id)
			if err := j.turns.Take(ctx, id); err != nil && ctx.Err() == nil {
				failed[id] = time.Now()
				j.log.WarnContext(ctx, "the turns of a waiting list failed; retrying", "voucher", id, "error", err)
			}
		}
	}
}

// woken returns the lists whose turns are due, and clears the set.
func (j *Job) woken() map[int64]bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	awake := j.awake
	j.awake = map[int64]bool{}
	return awake
}

// look wakes the lists in which something is due.
func (j *Job) look(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	due, err := j.due(call)
	if err != nil && ctx.Err() == nil {
		j.log.WarnContext(ctx, "looking for waiting lists with something due failed; retrying", "error", err)
		retry.Sleep(ctx, spared)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range due {
		j.awake[id] = true
	}
}

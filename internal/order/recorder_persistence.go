package order

import (
	"context"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// persistence is how the Recorder bears the infrastructure's faults.
type persistence struct {
	observer Observer
	log      *slog.Logger
}

// persist repeats a step until it succeeds, fails for good, or ctx ends, and reports whether it succeeded. Pauses grow
// from milliseconds to seconds; the infrastructure's faults never count against a batch.
func (p persistence) persist(ctx context.Context, step func(context.Context) error) bool {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, step(ctx)
	}, backoff.WithBackOff(newPause()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, pause time.Duration) {
		p.observer.RecordRetried(err)
		p.log.WarnContext(ctx, "recording failed; trying again", "pause", pause, "error", err)
	}))
	if err != nil && ctx.Err() != nil {
		p.log.WarnContext(ctx, "stopped with entries in hand; they are delivered again", "error", err)
	}
	return err == nil
}

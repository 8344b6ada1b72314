package recorder

import (
	"context"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"seckill/internal/kit/retry"
)

// retrier repeats steps of the Recorder when the infrastructure fails.
type retrier struct {
	observer Observer
	log      *slog.Logger
}

// retry repeats a step with back-off until it succeeds, fails for good, or ctx ends, and reports whether it succeeded.
// Faults of the infrastructure never count against a batch.
func (r retrier) retry(ctx context.Context, step func(context.Context) error) bool {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, step(ctx)
	}, backoff.WithBackOff(retry.NewBackOff()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, pause time.Duration) {
			r.observer.RecordRetried(err)
			r.log.WarnContext(ctx, "recording failed; retrying", "pause", pause, "error", err)
		}))
	if err != nil && ctx.Err() != nil {
		r.log.WarnContext(ctx, "stopped with unfinished entries; they will be delivered again", "error", err)
	}
	return err == nil
}

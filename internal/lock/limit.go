package lock

import (
	"context"
	"time"
)

// limited is a context with a deadline, or an earlier one than its own, and nothing that goes off then. It is for calls
// of Redis alone: the client gives the deadline to its socket, which ends them, so that a timer for each call, which
// wakes a thread when it is set, would be of no use.
type limited struct {
	context.Context //nolint:containedctx // it is a context
	deadline        time.Time
}

// limit returns ctx for calls that end within d.
func limit(ctx context.Context, d time.Duration) context.Context {
	deadline := time.Now().Add(d)
	if own, ok := ctx.Deadline(); ok && own.Before(deadline) {
		return ctx
	}
	return limited{ctx, deadline}
}

// Deadline returns when calls under the context end.
func (l limited) Deadline() (time.Time, bool) { return l.deadline, true }

// over returns why ctx is over, if it is: by the clock, as a socket notices a deadline before the context does.
func over(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) && ctx.Err() == nil {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// inTime reports whether there is time left for another call under a context from limit.
func inTime(ctx context.Context) bool {
	deadline, _ := ctx.Deadline()
	return time.Now().Before(deadline)
}

package lock

import (
	"context"
	"errors"
	"time"
)

const (
	// leaveTime is how long a call goes on at most when its context is over: on a Redis that answers, that is enough to
	// leave everything in order. What takes longer is done in the background.
	leaveTime = 30 * time.Millisecond
	// promptTime is how long the first answer is waited for without being ready to leave. A call whose answer takes
	// longer loses its connection, so then the next ones are ready, for slowTime.
	promptTime = 50 * time.Millisecond
	slowTime   = 10 * time.Second
	// mostLeft is how many calls of a Locker may be in the background at most. Each ends by its own time limits.
	mostLeft = 256
)

// errLeft is why nothing was asked.
var errLeft = errors.New("too many calls that Redis has left unanswered")

// answers reports whether calls end at their deadlines, and are mostly answered long before.
func (l *Locker) answers() bool { return l.obeys && time.Now().UnixNano() >= l.slow.Load() }

// silent remembers that an answer did not come in time.
func (l *Locker) silent() { l.slow.Store(time.Now().Add(slowTime).UnixNano()) }

// leavable returns what do returns, or soon after ctx is over its error. Then do goes on, and late has what it returns.
// The client cannot be told to stop waiting for an answer, so do has a goroutine if ctx can end.
func leavable[T any](ctx context.Context, l *Locker, do func() T, late func(T)) (result T, err error) {
	if ctx.Done() == nil {
		return do(), nil
	}
	if l.left.Load() >= mostLeft {
		return result, errLeft
	}
	done := make(chan T, 1)
	go func() { done <- do() }()
	select {
	case result = <-done:
		return result, nil
	case <-ctx.Done():
	}
	patience := time.NewTimer(leaveTime)
	defer patience.Stop()
	select {
	case result = <-done:
		return result, nil
	case <-patience.C:
	}
	l.left.Add(1)
	go func() {
		defer l.left.Add(-1)
		late(<-done)
	}()
	return result, ctx.Err()
}

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

package lock

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/kit/batch"
)

const (
	// leaveTime is how long a call goes on at most when its context is over: on a Redis that answers, that is enough to
	// leave everything in order. What takes longer is done in the background.
	leaveTime = 20 * time.Millisecond
	// mostLeft is how many calls of a Locker may be in the background before new ones are refused that could be left,
	// too: those of slots that have as many as mostLeftOfSlot there, as the others' server may well answer. Each ends
	// by its own time limits.
	mostLeft, mostLeftOfSlot = 256, 4
)

// errLeft is why nothing was asked.
var errLeft = fmt.Errorf("%w: %w: too many calls are without one", batch.ErrNotSent, ErrNoAnswer)

// mayLeave returns why a call with the context should not begin, if it should not.
func (l *Lock) mayLeave(ctx context.Context) error {
	if ctx.Done() == nil || l.locker.left.Load() < mostLeft {
		return ctx.Err()
	}
	if l.locker.slot(l.keys.all).left.Load() >= mostLeftOfSlot {
		return errLeft
	}
	return ctx.Err()
}

// leavable returns what do returns, or soon after ctx is over its error; then do goes on. The client cannot be told to
// stop waiting for an answer, so do has a goroutine if ctx can end.
func leavable[T any](ctx context.Context, l *Lock, do func() (T, error)) (result T, err error) {
	if ctx.Done() == nil {
		return do()
	}
	done := make(chan struct{})
	var got T // result and err may be returned before it is there
	var failed error
	go func() {
		defer close(done)
		got, failed = do()
	}()
	select {
	case <-done:
		return got, failed
	case <-ctx.Done():
	}
	patience := time.NewTimer(leaveTime)
	defer patience.Stop()
	select {
	case <-done:
		return got, failed
	case <-patience.C:
	}
	all, ofSlot := &l.locker.left, &l.locker.slot(l.keys.all).left
	all.Add(1)
	ofSlot.Add(1)
	go func() {
		<-done
		ofSlot.Add(-1)
		all.Add(-1)
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

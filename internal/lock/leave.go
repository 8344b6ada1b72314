package lock

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/lock/internal/member"
)

// mostLeft is how many abandoned calls of a Locker may run in the background. Beyond it, new calls that can be
// cancelled are refused if their own slot has mostLeftOfSlot such calls; a slot with fewer may be on a server that
// answers. Each abandoned call ends by its own time limits.
const mostLeft, mostLeftOfSlot = 256, 4

// errLeft refuses a call because too many abandoned ones are running.
var errLeft = fmt.Errorf("%w: too many calls wait for one", ErrNoAnswer)

// mayLeave returns an error if a call with the context should not begin.
func (l *Lock) mayLeave(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	crowded := ctx.Done() != nil && l.locker.left.Load() >= mostLeft
	if crowded && l.locker.slot(l.keys.all).left.Load() >= mostLeftOfSlot {
		return errLeft
	}
	return nil
}

// leavable returns do's result, or, soon after ctx ends, ctx's error while do goes on. The client cannot stop waiting
// for an answer, so do runs in a goroutine if ctx can end.
func leavable[T any](ctx context.Context, l *Lock, do func() (T, error)) (result T, err error) {
	if ctx.Done() == nil {
		return do()
	}
	done := make(chan struct{})
	var got T // leavable may return before do sets it
	var failed error
	go func() {
		defer close(done)
		got, failed = do()
	}()
	if member.Await(ctx, done) {
		return got, failed
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

// limited is a context with an earlier deadline but without a timer. It is only for calls to Redis: the client passes
// the deadline to its socket, which ends the call, so a timer, which wakes a thread when it is set, would be wasted.
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

// over returns ctx's error if it has ended. It checks the clock, because a socket notices the deadline before the
// context does.
func over(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) && ctx.Err() == nil {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

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

// prompt reports whether a call that cannot be left will end soon after ctx is over.
func (l *Locker) prompt(ctx context.Context) bool { return ctx.Done() != nil && l.answers() }

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

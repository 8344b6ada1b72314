package lock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Hold is a lock that was obtained, until it is released or lost. Its methods are safe for concurrent use.
type Hold struct {
	lock  *Lock
	claim claim
	token int64
	begin time.Time
	valid atomic.Int64 // nanoseconds after begin until which the lock may be relied on; renewals move it
	watch watch        // the watchdog's

	releasing sync.Mutex // one Release at a time
	asked     bool       // Release was called before; guarded by releasing
	answered  bool       // Redis has answered a release; guarded by releasing
	freed     bool       // that release ended the hold; guarded by releasing

	mu         sync.Mutex
	renewErr   error         // why the last renewal failed, nil if it did not
	err        error         // nil while held; then ErrLost or ErrNotHeld, wrapped
	isLost     bool          // it ended without a release
	lost       chan struct{} // nil until somebody asks for it
	dependents map[*dependent]struct{}
}

// dependent is what a hold cancels when it ends, such as a context.
type dependent struct{ cancel context.CancelCauseFunc }

// newHold makes a hold of a lock that was obtained by a request sent at the given time, and starts its watch. The
// watchdog gets it before anybody can end it, so that no renewal outlives its hold.
func newHold(l *Lock, c claim, token int64, sent time.Time) *Hold {
	h := &Hold{lock: l, claim: c, token: token, begin: sent}
	h.extend(sent)
	h.mu.Lock()
	defer h.mu.Unlock()
	l.locker.watchdog.add(h)
	return h
}

// Owner returns who holds the lock: the owner given to the Locker's method, or a new one for each hold of a Mutex.
func (h *Hold) Owner() Owner { return h.claim.owner }

// Token returns the fencing token. Later holders of the lock have higher tokens, so a resource that refuses a token
// lower than the highest it has seen is safe from a holder that lost the lock unnoticed. It is below 2^53.
func (h *Hold) Token() int64 { return h.token }

// Lost returns a channel that is closed when the lock is lost: before its lease can have ended in Redis, or soon after
// its key was removed or taken. It stays open if the lock is released first.
func (h *Hold) Lost() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil {
		h.lost = make(chan struct{})
		if h.isLost {
			close(h.lost)
		}
	}
	return h.lost
}

// Err returns nil while the lock is held, ErrLost with the reason after a loss, and ErrNotHeld after Release or for a
// nil or zero Hold. It checks the clock at each call, so it is right at once in a process that was stopped past the
// lease. Lost and the contexts depend on a timer and may be a moment late, but Err ends them before it returns an
// error.
func (h *Hold) Err() error {
	if h == nil || h.lock == nil {
		return ErrNotHeld // never obtained
	}
	h.expire()
	return h.ended()
}

// ended returns why the hold is over, without checking the clock; nil if it is not.
func (h *Hold) ended() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// ValidUntil returns until when the lock can be relied on without a renewal, by this process's clock: the end of the
// lease, less what clocks may drift. Renewals move it. It means nothing once Err is not nil.
func (h *Hold) ValidUntil() time.Time {
	return h.begin.Add(time.Duration(h.valid.Load()))
}

// Refresh renews the lease, from now. It is for holds with WithLease, which are not renewed otherwise. The error is
// ErrLost if the lock was no longer this hold's, ErrNotHeld after Release, or one of ctx or Redis. After an error of
// ctx or Redis the hold goes on until ValidUntil.
func (h *Hold) Refresh(ctx context.Context) error {
	if err := h.Err(); err != nil {
		return err
	}
	var sent time.Time
	held, err := 0, h.lock.mayLeave(ctx)
	if err == nil {
		err = h.lock.locker.retry(ctx, h.lock.keys.all, func(again bool) (err error) {
			sent = time.Now()
			renew := h.lock.callRenew(h.claim, h.lock.settings.lease)
			held, err = h.lock.locker.run(ctx, patience(again), renew).Int()
			return err
		})
	}
	switch {
	case err != nil:
		return h.lock.wrap("refresh", unanswered(over(ctx), err))
	case held != 1:
		h.end(fmt.Errorf("lock %q: %w: %w", h.lock.name, ErrLost, errGone), true)
		return h.ended()
	}
	h.extend(sent)
	return h.Err()
}

// Context returns a copy of parent that also ends when the lock is lost or released; its cause is then Err. Its own Err
// method checks the clock, as the hold's does. Call cancel when it is no longer needed.
func (h *Hold) Context(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancelCause := context.WithCancelCause(h.mark(parent))
	d := &dependent{cancelCause}
	if !h.depend(d) {
		return ctx, func() {}
	}
	return heldContext{ctx, h}, func() {
		h.mu.Lock()
		delete(h.dependents, d)
		h.mu.Unlock()
		cancelCause(context.Canceled)
	}
}

// heldContext is a context that ends with a hold.
type heldContext struct {
	context.Context //nolint:containedctx // it is a context

	hold *Hold
}

// Err returns nil until the hold or the parent ends.
func (c heldContext) Err() error {
	_ = c.hold.Err() // ends the context
	return c.Context.Err()
}

// depend registers d to be cancelled when the hold ends. It reports false if the hold has ended.
func (h *Hold) depend(d *dependent) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		d.cancel(h.err)
		return false
	}
	if h.dependents == nil {
		h.dependents = map[*dependent]struct{}{}
	}
	h.dependents[d] = struct{}{}
	return true
}

// mark returns a copy of parent that carries the hold, so that a call that would wait for its own hold gets ErrReentry.
func (h *Hold) mark(parent context.Context) context.Context {
	return context.WithValue(parent, heldUnder{h.lock.locker, h.lock.key}, h)
}

// Release gives the lock back. The hold is over as soon as Release is called: it is not renewed, and its contexts end.
// Release works under a cancelled ctx, as it has its own timeout. ErrNotHeld means that the lock was no longer this
// hold's or was released before. After any other error the outcome is unknown: call Release again, or the lease ends
// the lock.
func (h *Hold) Release(ctx context.Context) error {
	if h == nil || h.lock == nil {
		return ErrNotHeld
	}
	h.releasing.Lock()
	defer h.releasing.Unlock()
	if h.answered {
		return fmt.Errorf("lock %q: release: %w", h.lock.name, ErrNotHeld)
	}
	h.end(releasedError{h.lock.name}, false)
	held, err := h.lock.finish(ctx, h.claim, ending{token: h.token, again: h.asked})
	h.asked, h.answered, h.freed = true, err == nil, held
	if err == nil && !held {
		err = ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("lock %q: release: %w", h.lock.name, err)
	}
	return nil
}

// settle is Release for a hold that may be released already.
func (h *Hold) settle(ctx context.Context) error {
	h.releasing.Lock()
	freed := h.freed
	h.releasing.Unlock()
	if freed {
		return nil
	}
	return h.Release(ctx)
}

// releasedError is the error of a released hold. It is formatted only when read, because every hold ends with one.
type releasedError struct{ name string }

func (e releasedError) Error() string {
	return fmt.Sprintf("lock %q: %v: released", e.name, ErrNotHeld)
}

// Unwrap returns ErrNotHeld.
func (e releasedError) Unwrap() error { return ErrNotHeld }

// end ends the hold, unless it has ended.
func (h *Hold) end(err error, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.endLocked(err, lost)
	}
}

func (h *Hold) endLocked(err error, lost bool) {
	h.err, h.isLost = err, lost
	if lost && h.lost != nil {
		close(h.lost)
	}
	h.lock.locker.watchdog.remove(h)
	for d := range h.dependents {
		d.cancel(err)
	}
	h.dependents = nil
}

// note stores why the last renewal failed, or nil. If the hold is lost later, its error includes the reason.
func (h *Hold) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewErr = err
}

// extend records a renewal: the lease starts again at the time when the request was sent.
func (h *Hold) extend(sent time.Time) {
	h.valid.Store(int64(sent.Sub(h.begin) + h.lock.settings.validity()))
}

// expire ends the hold if its lease may have ended.
func (h *Hold) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil || time.Now().Before(h.ValidUntil()) {
		return
	}
	err := fmt.Errorf("lock %q: %w: its lease is over", h.lock.name, ErrLost)
	if h.renewErr != nil {
		err = fmt.Errorf("%w: %w", err, h.renewErr)
	}
	h.endLocked(err, true)
}

package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Hold is a lock that was obtained, until it is released or lost. Its methods may be called from any goroutine.
type Hold struct {
	lock  *Lock
	claim claim
	token int64
	begin time.Time
	valid atomic.Int64 // how long from then the lock may be relied on, nanoseconds; moved by renewals
	watch watch        // the watchdog's

	releasing sync.Mutex // one Release at a time
	asked     bool       // Release was called before; guarded by releasing
	settled   bool       // Redis has answered a release; guarded by releasing

	mu         sync.Mutex
	renewErr   error         // why the last renewal failed, nil if it did not
	err        error         // nil while held; then ErrLost or ErrNotHeld, wrapped
	isLost     bool          // it ended without a release
	lost       chan struct{} // nil until somebody asks for it
	dependents map[*dependent]struct{}
}

// dependent is a context that ends with the hold, or what else is to be told.
type dependent struct{ cancel context.CancelCauseFunc }

// newHold starts the watch over a lock that was obtained by a request sent at the given time. The
// watchdog knows it before anybody can end it, so that no renewal outlives its hold.
func newHold(l *Lock, c claim, token int64, sent time.Time) *Hold {
	h := &Hold{lock: l, claim: c, token: token, begin: sent}
	h.extend(sent)
	h.mu.Lock()
	defer h.mu.Unlock()
	l.locker.watchdog.add(h)
	return h
}

// Owner returns who holds the lock: the owner that the lock was made for, or a new one.
func (h *Hold) Owner() Owner { return h.claim.owner }

// Token returns the fencing token: later holders of the same lock have higher ones. A resource that refuses a token
// lower than one it has seen is safe from a holder that does not know yet that it lost the lock. It is below 2^53.
func (h *Hold) Token() int64 { return h.token }

// Lost is closed when the lock is lost: before its lease can have ended in Redis, and soon after its key was removed
// or taken. It stays open when the lock is released first.
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

// Err returns nil while the lock is held, ErrLost with the reason after it was lost, and ErrNotHeld after Release was
// called, also for a nil or a zero hold. It compares with the clock at each call: in a process that was stopped past
// the lease it says so at once, while Lost and the contexts, which a timer ends, may be a moment late. They are ended
// before it returns an error.
func (h *Hold) Err() error {
	if h == nil || h.lock == nil {
		return ErrNotHeld // one that was never obtained
	}
	h.expire()
	return h.ended()
}

// ended returns why the hold is over, as far as has been noticed.
func (h *Hold) ended() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// ValidUntil returns until when the lock can be relied on, on the clock of this process, if it is not renewed before:
// less than its lease by what clocks may drift. It is moved by renewals, and of no use when Err is not nil.
func (h *Hold) ValidUntil() time.Time {
	return h.begin.Add(time.Duration(h.valid.Load()))
}

// Refresh gives the hold a whole lease again, from now: for one with a given lease, which nothing else renews. The
// error is ErrLost when the lock was not this hold's any more, ErrNotHeld after Release, or ctx's or Redis's; then
// the hold goes on until ValidUntil.
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

// Context returns a copy of parent that also ends when the lock is lost or Release is called; its cause is then Err.
// Its own Err compares with the clock, as the hold's does. Call cancel when it is no longer needed.
func (h *Hold) Context(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancelCause := context.WithCancelCause(h.Mark(parent))
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

// heldContext is a context that ends with a hold, whose end it notices by itself.
type heldContext struct {
	context.Context //nolint:containedctx // it is a context

	hold *Hold
}

// Err returns nil while neither the hold nor the parent is over.
func (c heldContext) Err() error {
	_ = c.hold.Err() // ends the context
	return c.Context.Err()
}

// depend has the dependent told of the end, and reports whether that is still to come.
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

// Mark returns a copy of parent that knows of the hold: a call under it that would wait for itself is told ErrReentry.
// Those of Context know.
func (h *Hold) Mark(parent context.Context) context.Context {
	return context.WithValue(parent, heldUnder{h.lock.locker, h.lock.key}, h)
}

// Release gives the lock back. From its call on the hold is over: it is not renewed and its contexts end. ctx may be
// over; Release has its own timeout. ErrNotHeld says that the lock was not this hold's any more, or that it was
// released already. After another error it is not known whether the lock was released: Release may be called again, and
// if nobody does, the lease ends it.
func (h *Hold) Release(ctx context.Context) error {
	if h == nil || h.lock == nil {
		return ErrNotHeld
	}
	h.releasing.Lock()
	defer h.releasing.Unlock()
	if h.settled {
		return fmt.Errorf("lock %q: release: %w", h.lock.name, ErrNotHeld)
	}
	h.end(releasedError{h.lock.name}, false)
	settled, err := h.giveBack(ctx)
	h.settled = settled
	if err != nil {
		return fmt.Errorf("lock %q: release: %w", h.lock.name, err)
	}
	return nil
}

// giveBack tells Redis, and reports whether it has answered; releasing is held.
func (h *Hold) giveBack(ctx context.Context) (settled bool, err error) {
	held, err := h.lock.finish(ctx, h.claim, ending{token: h.token, again: h.asked})
	h.asked = true
	if err == nil && !held {
		return true, ErrNotHeld
	}
	return err == nil, err
}

// releasedError is the end of every hold that goes well, and is made into text only if somebody asks.
type releasedError struct{ name string }

func (e releasedError) Error() string {
	return fmt.Sprintf("lock %q: %v: released", e.name, ErrNotHeld)
}

// Unwrap returns ErrNotHeld.
func (e releasedError) Unwrap() error { return ErrNotHeld }

// do runs f under the hold and releases it, also when f panics.
func (h *Hold) do(ctx context.Context, f func(context.Context, *Hold) error) (err error) {
	held, cancel := h.Context(ctx)
	defer cancel()
	defer func() { err = errors.Join(err, h.Release(ctx)) }()
	return f(held, h)
}

// end makes the hold over, unless it is already.
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

// GiveUp ends the hold in this process, as lost: it is not renewed any more, and its lease ends it in Redis, or
// Release.
func (h *Hold) GiveUp(err error) { h.end(err, true) }

// RaiseToken raises the hold's token, for a holder that has the lock on several servers and needs one token of all.
// When it is not known whether that was done the hold is given up. Nobody else may ask for the token meanwhile.
func (h *Hold) RaiseToken(ctx context.Context, token int64) error {
	if h.token >= token {
		return nil
	}
	held, err := h.lock.ask(ctx, h.lock.callRaise(h.claim, token)).Int()
	if err == nil && held == 1 {
		h.token = token
		h.lock.locker.sawToken(token)
		return nil
	}
	if err == nil {
		err = ErrLost
	}
	h.end(err, true)
	go h.lock.abandon(ctx, h.claim)
	return h.lock.wrap("raise token", err)
}

// note keeps the reason why there was no renewal, nil if there was, for the error of the loss that may follow.
func (h *Hold) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewErr = err
}

// extend says that the lease began anew with a request sent at the given time.
func (h *Hold) extend(sent time.Time) {
	h.valid.Store(int64(sent.Sub(h.begin) + h.lock.settings.validity()))
}

// expire ends the hold if its lease may be over.
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

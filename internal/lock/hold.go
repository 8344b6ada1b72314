package lock

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Hold is a lock that was obtained, until it is released or lost. Its methods may be called from any goroutine.
type Hold struct {
	engine *engine
	owner  string
	token  int64

	releasing sync.Mutex // one Release at a time
	settled   bool       // Redis has answered a release; guarded by releasing

	mu         sync.Mutex
	validUntil time.Time   // the lock may be relied on until then; moved by renewals
	expiry     *time.Timer // at validUntil, or earlier: it looks
	renewErr   error       // why the last renewal failed, nil if it did not
	err        error       // nil while held; then ErrLost or ErrNotHeld, wrapped
	lost       chan struct{}
	over       chan struct{} // lost or released
	dependents map[*dependent]struct{}
}

// dependent is a context that ends with the hold.
type dependent struct{ cancel context.CancelCauseFunc }

// newHold starts the watch over a lock that was obtained by a request sent at the given time.
func newHold(ctx context.Context, e *engine, owner string, token int64, sent time.Time) *Hold {
	h := &Hold{
		engine: e, owner: owner, token: token, validUntil: sent.Add(e.settings.validity()),
		lost: make(chan struct{}), over: make(chan struct{}), dependents: map[*dependent]struct{}{},
	}
	h.mu.Lock()
	h.expiry = time.AfterFunc(time.Until(h.validUntil), h.expire)
	h.mu.Unlock()
	if e.settings.renewed {
		go h.keep(context.WithoutCancel(ctx))
	}
	return h
}

// Owner returns the random UUID under which Redis knows this hold.
func (h *Hold) Owner() string { return h.owner }

// Token returns the fencing token: later holds of the same lock have higher ones. A resource that refuses a token lower
// than one it has seen is safe from a holder that does not know yet that it lost the lock. It is below 2^53.
func (h *Hold) Token() int64 { return h.token }

// Lost is closed when the lock is lost: before its lease can have ended in Redis, and soon after its key was removed
// or taken. It stays open when the lock is released first.
func (h *Hold) Lost() <-chan struct{} { return h.lost }

// Err returns nil while the lock is held, ErrLost with the reason after it was lost, and ErrNotHeld after Release was
// called.
func (h *Hold) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Context returns a copy of parent that also ends when the lock is lost or Release is called; its cause is then Err.
// Call cancel when it is no longer needed.
func (h *Hold) Context(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancelCause := context.WithCancelCause(parent)
	d := &dependent{cancelCause}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		cancelCause(h.err)
		return ctx, func() {}
	}
	h.dependents[d] = struct{}{}
	return ctx, func() {
		h.mu.Lock()
		delete(h.dependents, d)
		h.mu.Unlock()
		cancelCause(context.Canceled)
	}
}

// Release gives the lock back. From its call on the hold is over: it is not renewed and its contexts end. ctx may be
// over; Release has its own timeout. ErrNotHeld says that the lock was not this hold's any more, or that it was released
// already. After another error it is not known whether the lock was released: Release may be called again, and if
// nobody does, the lease ends it.
func (h *Hold) Release(ctx context.Context) error {
	h.releasing.Lock()
	defer h.releasing.Unlock()
	if h.settled {
		return fmt.Errorf("lock %q: release: %w", h.engine.name, ErrNotHeld)
	}
	h.end(fmt.Errorf("lock %q: %w: released", h.engine.name, ErrNotHeld), false)
	held, err := h.engine.release(ctx, h.owner)
	if err != nil {
		return fmt.Errorf("lock %q: release: %w", h.engine.name, err)
	}
	h.settled = true
	if !held {
		return fmt.Errorf("lock %q: release: %w", h.engine.name, ErrNotHeld)
	}
	return nil
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
	h.err = err
	h.expiry.Stop() // if it is running already it finds the hold over
	if lost {
		close(h.lost)
	}
	close(h.over)
	for d := range h.dependents {
		d.cancel(err)
	}
	h.dependents = nil
}

package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"seckill/internal/lock"
)

// Hold is a combined lock that was obtained, until it is released or lost. Its methods work like those of lock.Hold.
type Hold struct {
	lock  *Lock
	owner lock.Owner
	token int64

	mu    sync.Mutex
	parts []*part // the first is released last; late answers are added

	ended context.Context //nolint:containedctx // ends with the hold, and ends the contexts made from it
	end   context.CancelCauseFunc

	releasing sync.Mutex // one Release at a time
	lost      chan struct{}
}

// newHold combines the parts and watches each for its end.
func newHold(l *Lock, parts []*part) *Hold {
	h := &Hold{
		lock: l, owner: parts[0].Owner(), token: slices.Max(tokens(parts)), parts: parts, lost: make(chan struct{}),
	}
	h.ended, h.end = context.WithCancelCause(context.Background())
	for _, p := range parts {
		h.endWith(p)
	}
	return h
}

// endWith counts the parts again when p ends, which may end the whole hold.
func (h *Hold) endWith(p *part) {
	over, _ := p.Context(h.ended) // ends with the part
	context.AfterFunc(over, func() { _ = h.Err() })
}

// adopt adds a late part, unless the whole hold is over.
func (h *Hold) adopt(p *part) bool {
	h.mu.Lock()
	over := h.ended.Err() != nil
	if !over {
		h.parts = append(h.parts, p)
	}
	h.mu.Unlock()
	if !over {
		h.endWith(p)
	}
	return !over
}

func (h *Hold) list() []*part {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.parts)
}

// Owner returns who holds the lock: the owner of its first member.
func (h *Hold) Owner() lock.Owner { return h.owner }

// Token returns the fencing token.
func (h *Hold) Token() int64 { return h.token }

// TokenOf returns the fencing token of one member, for a resource that is also written under that member alone. It
// reports false if l is no member or was not obtained.
func (h *Hold) TokenOf(l *lock.Lock) (token int64, ok bool) {
	for _, p := range h.list() {
		if m := h.lock.members[p.member]; m.Lock == l || m.place() == open(l).place() {
			return p.Token(), true
		}
	}
	return 0, false
}

// Lost returns a channel that is closed when the lock is lost. It stays open if the lock is released first.
func (h *Hold) Lost() <-chan struct{} { return h.lost }

// Err returns nil while the lock is held, lock.ErrLost with the reason after a loss, and lock.ErrNotHeld after Release
// or for a nil or zero Hold. It checks the clock at each call, and ends the hold's contexts before it returns an error.
func (h *Hold) Err() error {
	if h == nil || h.lock == nil {
		return lock.ErrNotHeld // never obtained
	}
	if err := context.Cause(h.ended); err != nil {
		return err
	}
	held, cause := 0, error(nil)
	for _, p := range h.list() {
		if err := p.Err(); err == nil {
			held++
		} else if cause == nil {
			cause = err
		}
	}
	if held < h.lock.need {
		h.over(h.lock.wrap(cause), true)
	}
	return context.Cause(h.ended)
}

// over ends the whole hold, if it has not ended. A loss also ends the remaining parts: nobody relies on them any more,
// so they must not be renewed.
func (h *Hold) over(err error, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended.Err() != nil {
		return
	}
	if lost {
		close(h.lost)
	}
	h.end(err)
	if lost {
		for _, p := range h.parts {
			p.door.GiveUp(p.Hold, err)
		}
	}
}

// ValidUntil returns until when enough members can be relied on.
func (h *Hold) ValidUntil() time.Time {
	var ends []time.Time
	for _, p := range h.list() {
		if p.Err() == nil {
			ends = append(ends, p.ValidUntil())
		}
	}
	if len(ends) < h.lock.need {
		return time.Time{}
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	return ends[h.lock.need-1]
}

// Refresh refreshes every part. It succeeds if enough members do.
func (h *Hold) Refresh(ctx context.Context) error {
	if err := h.Err(); err != nil {
		return err
	}
	errs := each(h.list(), func(_ int, p *part) error { return p.Refresh(ctx) })
	if failed := failures(errs); len(errs)-len(failed) < h.lock.need {
		_ = h.Err() // a lost part may end the whole hold
		return errors.Join(failed...)
	}
	return nil
}

// Context returns a copy of parent that also ends when the lock is lost or Release is called; its cause is then Err.
func (h *Hold) Context(parent context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancelCause(h.ended)
	for _, p := range h.list() {
		parent = p.door.Mark(parent, p.Hold) //nolint:fatcontext // one value for each
	}
	stop := context.AfterFunc(parent, func() { cancel(context.Cause(parent)) })
	return heldContext{own, parent, h}, func() {
		stop()
		cancel(context.Canceled)
	}
}

// heldContext is a context that ends with a hold or with its parent. Its values are the parent's.
type heldContext struct {
	context.Context //nolint:containedctx // it is a context

	parent context.Context //nolint:containedctx // for its values and deadline
	hold   *Hold
}

// Deadline returns the parent's deadline.
func (c heldContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Err returns nil until the hold or the parent ends.
func (c heldContext) Err() error {
	_ = c.hold.Err() // ends the context
	return cmp.Or(c.parent.Err(), c.Context.Err())
}

// Value returns the parent's value, or one that package context stores in the hold's own context.
func (c heldContext) Value(key any) any {
	if own := c.Context.Value(key); own != nil {
		return own
	}
	return c.parent.Value(key)
}

// Release releases every part, even if some fail. It succeeds if enough members are released; otherwise it returns
// every failure. Call it again to retry the parts that did not answer.
func (h *Hold) Release(ctx context.Context) error {
	if h == nil || h.lock == nil {
		return lock.ErrNotHeld
	}
	h.releasing.Lock()
	defer h.releasing.Unlock()
	h.over(fmt.Errorf("lock %q: %w: released", h.lock.name, lock.ErrNotHeld), false)
	parts := h.list() // complete: adopt refuses from now on
	before := released(parts)
	errs := firstLast(parts, func(_ int, p *part) error {
		if p.released {
			return nil
		}
		err := p.Release(ctx)
		p.released = err == nil
		return err
	})
	if before < h.lock.need && released(parts) >= h.lock.need {
		return nil
	}
	if before >= h.lock.need {
		errs = []error{lock.ErrNotHeld}
	}
	return fmt.Errorf("lock %q: release: %w", h.lock.name, errors.Join(errs...))
}

// released returns how many parts were still held when they were released.
func released(parts []*part) (n int) {
	for _, p := range parts {
		if p.released {
			n++
		}
	}
	return n
}

// settle is Release for a hold that may be released already.
func (h *Hold) settle(ctx context.Context) error {
	h.releasing.Lock()
	freed := released(h.list()) >= h.lock.need
	h.releasing.Unlock()
	if freed {
		return nil
	}
	return h.Release(ctx)
}

package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// parts are the holds that a hold of a group consists of. Each is renewed by the Locker that it came from; the whole is
// lost as soon as fewer are held than are needed.
type parts struct {
	need int

	mu       sync.Mutex
	all      []*Hold // the first is released last
	kept     []*Hold // those that have not answered a release
	released int     // how many have said that they were held until then
}

// newWhole makes a hold of those of members.
func (l *Lock) newWhole(held []reply) *Hold {
	h := &Hold{lock: l, claim: held[0].hold.claim, parts: &parts{need: l.group.need}}
	for _, part := range held {
		h.token = max(h.token, part.hold.token)
		h.parts.add(part.hold)
	}
	for _, part := range held { // only now can it be told whether the rest is enough
		h.endWith(part.hold)
	}
	return h
}

// adopt makes one more hold a part, unless the whole is over.
func (h *Hold) adopt(part *Hold) bool {
	h.parts.mu.Lock()
	over := h.ended() != nil
	if !over {
		h.parts.add(part)
	}
	h.parts.mu.Unlock()
	if over {
		return false
	}
	h.endWith(part)
	return true
}

// endWith makes the whole hear of the end of a part.
func (h *Hold) endWith(part *Hold) {
	// Not at once: the part's mutex is locked, and the other parts' are needed.
	part.depend(&dependent{func(error) { go h.count() }})
}

// count ends the whole if fewer parts are held than are needed, and the rest with it: nobody relies on it any more, so
// it must not be renewed.
func (h *Hold) count() {
	if h.ended() != nil {
		return
	}
	held, cause := 0, error(nil)
	for _, part := range h.parts.list() {
		if err := part.Err(); err == nil {
			held++
		} else if cause == nil {
			cause = err
		}
	}
	if held >= h.parts.need {
		return
	}
	err := fmt.Errorf("lock %q: %w", h.lock.name, cause)
	h.end(err, true)
	for _, part := range h.parts.list() { // once more: one may have joined meanwhile, and none does from now on
		part.end(err, true)
	}
}

// validUntil returns until when as many parts as are needed can be relied on.
func (p *parts) validUntil() time.Time {
	var ends []time.Time
	for _, part := range p.list() {
		if part.ended() == nil {
			ends = append(ends, part.ValidUntil())
		}
	}
	if len(ends) < p.need {
		return time.Time{}
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	return ends[p.need-1]
}

// refresh refreshes every part. As many as are needed are enough.
func (p *parts) refresh(ctx context.Context) error {
	errs := each(p.list(), func(_ int, part *Hold) error { return part.Refresh(ctx) })
	if failed := failures(errs); len(errs)-len(failed) < p.need {
		return errors.Join(failed...)
	}
	return nil
}

// add makes a hold one of the parts; mu is held, or nobody else knows them yet.
func (p *parts) add(part *Hold) {
	p.all, p.kept = append(p.all, part), append(p.kept, part)
}

func (p *parts) list() []*Hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// under is Hold.under for each part.
func (p *parts) under(ctx context.Context) context.Context {
	for _, part := range p.list() {
		ctx = part.under(ctx) //nolint:fatcontext // one value for each
	}
	return ctx
}

// release gives every part back, whatever becomes of the others. As many as are needed are enough; else it returns what
// went wrong with each. Those that have not answered are asked again by the next call.
func (p *parts) release(ctx context.Context) (settled bool, err error) {
	p.mu.Lock()
	kept := p.kept
	p.mu.Unlock()
	errs := firstLast(kept, func(_ int, part *Hold) error { return part.Release(ctx) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = nil
	for i, err := range errs {
		switch {
		case err == nil:
			p.released++
		case !errors.Is(err, ErrNotHeld):
			p.kept = append(p.kept, kept[i])
		}
	}
	if p.released >= p.need {
		return true, nil
	}
	return len(p.kept) == 0, errors.Join(errs...)
}

// TokenOf returns the fencing token of one of the locks that the hold's lock is made of, for a resource that is written
// under that one alone as well. It reports false for a lock that is not among them, or was not obtained.
func (h *Hold) TokenOf(l *Lock) (token int64, ok bool) {
	if h.lock.is(l) {
		return h.token, true
	}
	if h.parts == nil {
		return 0, false
	}
	for _, part := range h.parts.list() {
		if token, ok := part.TokenOf(l); ok {
			return token, true
		}
	}
	return 0, false
}

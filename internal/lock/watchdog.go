package lock

import (
	"context"
	"fmt"
	"time"
)

// The watch over a hold has two parts that do not wait for each other. keep renews the lease in Redis; expire ends the
// hold in this process when the lease may be over there. A renewal that hangs therefore never delays the loss signal,
// and a hold that is over is never renewed on purpose; a renewal that was under way then finds another owner or none,
// or gives one last lease.

// keep renews the lease every third of it, until the hold is over. ctx carries values only.
func (h *Hold) keep(ctx context.Context) {
	s := h.engine.settings
	interval, begin := s.lease/3, time.Now()
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-h.over:
			return
		case <-timer.C:
		}
		if s.maxHold > 0 && time.Since(begin) >= s.maxHold {
			h.note(fmt.Errorf("held for %v, its limit", s.maxHold))
			return
		}
		next := interval
		if !h.renew(ctx, interval) {
			next = interval / 10 // Redis did not answer: there is time for some more tries before the lease is over
		}
		timer.Reset(next)
	}
}

// renew asks for another lease, for so long at most, and reports whether Redis answered.
func (h *Hold) renew(ctx context.Context, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sent := time.Now()
	held, err := h.engine.remote.renew(ctx, h.owner, h.engine.settings.lease)
	if err != nil {
		h.note(err)
		return false
	}
	if !held {
		h.end(fmt.Errorf("lock %q: %w: it was removed or taken", h.engine.name, ErrLost), true)
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.validUntil, h.renewErr = sent.Add(h.engine.settings.validity()), nil
	return true
}

// note keeps the reason why there was no renewal, for the error of the loss that may follow.
func (h *Hold) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewErr = err
}

// expire ends the hold if no renewal has moved validUntil meanwhile; else it looks again then.
func (h *Hold) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return
	}
	if rest := time.Until(h.validUntil); rest > 0 {
		h.expiry.Reset(rest)
		return
	}
	err := fmt.Errorf("lock %q: %w: its lease is over", h.engine.name, ErrLost)
	if h.renewErr != nil {
		err = fmt.Errorf("%w: %w", err, h.renewErr)
	}
	h.endLocked(err, true)
}

package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A hold is watched in two independent ways: its lease is renewed in Redis, and the hold is ended in this process
// before its lease may end there. Renewals run in their own goroutines, so a hanging one never delays the signal of a
// loss. A hold leaves the watchdog when it ends; a renewal under way then finds no such request in Redis, or extends
// the lease one last time.

// watchdog renews the leases of all holds of a Locker, in one request for those that are due together, and ends holds
// that were not renewed in time. A hold without renewal is only checked for existence. The watchdog is one timer for
// all holds instead of a goroutine: without holds it costs nothing, and a short hold costs one map entry.
type watchdog struct {
	client Client

	mu    sync.Mutex
	holds map[*Hold]*watch
	alarm alarm // runs tick
}

// watch is the watchdog's state for one hold.
type watch struct {
	hold     *Hold
	interval time.Duration // a third of the lease
	due      time.Time     // when it is renewed
	underWay bool
	done     bool // WithMaxHold is reached: not renewed any more
}

// add starts watching a hold. The caller has locked the hold's mutex, so the hold cannot end, and be removed, before it
// is added.
func (w *watchdog) add(h *Hold) {
	interval := h.lock.settings.lease / 3
	h.watch = watch{hold: h, interval: interval, due: h.begin.Add(interval)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds == nil {
		w.holds = map[*Hold]*watch{}
	}
	w.holds[h] = &h.watch
	w.alarm.set(h.watch.due, w.tick) // due comes before the lease ends
}

// remove stops watching a hold, whose mutex is locked. The timer stays set: it will find nothing to do.
func (w *watchdog) remove(h *Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.holds, h)
}

// alarm is one timer for many deadlines. Its owner's mutex guards it.
type alarm struct {
	timer *time.Timer // nil before the first time
	at    time.Time   // when it goes off; zero while it is not set
}

// set makes the alarm call ring at the given time or earlier.
func (a *alarm) set(at time.Time, ring func()) {
	if !a.at.IsZero() && !at.Before(a.at) {
		return
	}
	a.at = at
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(at), ring)
		return
	}
	a.timer.Reset(time.Until(at))
}

// tick ends the holds whose lease is over, renews those that are due, and sets the timer again.
func (w *watchdog) tick() {
	due, done, over := w.collect(time.Now())
	for _, h := range over {
		h.expire()
	}
	for _, h := range done {
		h.note(fmt.Errorf("held for %v, its limit", h.lock.settings.maxHold))
	}
	if len(due) > 0 {
		go w.renew(due) // if it hangs, it delays nothing; it ends within a third of a lease
	}
}

// collect returns the holds that are due, or nearly due, so that holds that were taken one after the other share a
// request. done are those that have just reached WithMaxHold; over are those whose lease may have ended.
func (w *watchdog) collect(now time.Time) (due []*watch, done, over []*Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alarm.at = time.Time{}
	for h, e := range w.holds {
		if until := h.ValidUntil(); now.Before(until) {
			w.alarm.set(until, w.tick)
		} else {
			over = append(over, h)
		}
		switch limit := h.lock.settings.maxHold; {
		case e.done:
		case limit > 0 && now.Sub(h.begin) >= limit:
			e.done = true
			done = append(done, h)
		case e.underWay:
		case !now.Before(e.due.Add(-e.interval / 8)):
			e.underWay = true
			due = append(due, e)
		default:
			w.alarm.set(e.due, w.tick)
		}
	}
	return due, done, over
}

// renew renews the leases of several holds and passes each its result.
func (w *watchdog) renew(due []*watch) {
	timeout := due[0].interval
	for _, e := range due {
		timeout = min(timeout, e.interval)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	sent := time.Now()
	calls := make([]call, len(due))
	for i, e := range due {
		calls[i] = e.call()
	}
	runAll(ctx, w.client, calls, func(i int, answer *redis.Cmd) {
		held, err := answer.Int()
		if timedOut(err) {
			due[i].hold.lock.locker.dropHalfOpen(calls[i].keys) // so that the next try does not hit one
		}
		w.record(due[i], sent, held == 1, unanswered(nil, err))
	})
}

// call returns the renewal, or only a check if the lease is not to be renewed.
func (e *watch) call() call {
	s := e.hold.lock.settings
	lease := s.lease
	if !s.renewed {
		lease = 0
	}
	return e.hold.lock.callRenew(e.hold.claim, lease)
}

// record passes Redis's answer to a hold and sets when it is due next: a third of the lease after the renewal was sent.
// Without an answer it is due sooner, which leaves time for several tries before the lease ends.
func (w *watchdog) record(e *watch, sent time.Time, held bool, err error) {
	h, next := e.hold, sent.Add(e.interval)
	h.note(err)
	switch {
	case err != nil:
		next = time.Now().Add(e.interval / 10)
	case !held:
		h.end(fmt.Errorf("lock %q: %w: %w", h.lock.name, ErrLost, errGone), true)
	case h.lock.settings.renewed:
		h.extend(sent)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e.underWay = false
	e.due = next
	if _, watched := w.holds[h]; watched && !e.done {
		w.alarm.set(e.due, w.tick)
	}
}

// errGone is the reason for a loss before the lease ended.
var errGone = errors.New("it was removed or taken")

package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The watch over a hold has two parts that do not wait for each other: its lease is renewed in Redis, and it is ended
// in this process when its lease may be over there. Renewals have goroutines of their own, so one that hangs never
// delays the loss signal. A hold leaves the watchdog when it is over; a renewal that was under way then finds no such
// request in Redis, or gives one last lease.

// watchdog renews the leases of all holds of a Locker, those that are due together in one request, and ends those that
// were not renewed in time. Holds whose lease is not to be renewed are looked after: whether they are still there. It
// is one timer for all, and not a goroutine: with no holds there is nothing of it, and a hold that is soon released
// costs an entry in a map.
type watchdog struct {
	client Client

	mu    sync.Mutex
	holds map[*Hold]*watch
	alarm alarm // runs tick
}

// watch is what the watchdog knows of one hold.
type watch struct {
	hold     *Hold
	interval time.Duration // a third of the lease
	due      time.Time     // when it is renewed
	underWay bool
	done     bool // it was held as long as it may be, and is not renewed any more
}

// add begins to watch over a hold. The hold's mutex is locked, so that it cannot be over, and removed, before.
func (w *watchdog) add(h *Hold) {
	interval := h.lock.settings.lease / 3
	h.watch = watch{hold: h, interval: interval, due: h.begin.Add(interval)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds == nil {
		w.holds = map[*Hold]*watch{}
	}
	w.holds[h] = &h.watch
	w.alarm.set(h.watch.due, w.tick) // before it is over
}

// remove ends the watch over a hold, whose mutex is locked. The timer is left as it is: it finds nothing to do.
func (w *watchdog) remove(h *Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.holds, h)
}

// alarm is one timer for what is due at many times. The mutex of its owner guards it.
type alarm struct {
	timer *time.Timer // nil before the first time
	at    time.Time   // when it goes off; zero while it is not set
}

// set makes ring be called at the given time, or earlier.
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

// tick ends what is over, renews what is due, and sets the timer for what comes next.
func (w *watchdog) tick() {
	due, done, over := w.collect(time.Now())
	for _, h := range over {
		h.expire()
	}
	for _, h := range done {
		h.note(fmt.Errorf("held for %v, its limit", h.lock.settings.maxHold))
	}
	if len(due) > 0 {
		go w.renew(due) // if it hangs it does not delay the next; it ends within a third of a lease
	}
}

// collect takes the holds that are due, or nearly so, which makes batches of holds that were taken one after the other.
// done are the holds that have been held as long as they may be; over are those whose lease may have ended.
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

// renew asks for another lease for each of several, and tells each what became of it.
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
			due[i].hold.lock.locker.dropHalfOpen(calls[i].keys) // so that the next try finds none
		}
		w.settle(due[i], sent, held == 1, unanswered(nil, err))
	})
}

// call is the request for another lease, or for none, when the lease is not to be renewed.
func (e *watch) call() call {
	s := e.hold.lock.settings
	lease := s.lease
	if !s.renewed {
		lease = 0
	}
	return e.hold.lock.callRenew(e.hold.claim, lease)
}

// settle tells a hold what Redis said, and when it is due next: a third of the lease after that began anew. Without an
// answer that is soon: there is time for some more tries before the lease is over.
func (w *watchdog) settle(e *watch, sent time.Time, held bool, err error) {
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

// errGone is why a lock was lost whose lease was not over.
var errGone = errors.New("it was removed or taken")

package lock

import (
	"slices"
	"time"
)

// queue is where those of one process stand who wait for one channel. The first is told of the channel's events and
// asks Redis; the others wait until they are first, so that a release makes one of them ask and not all. The hub's
// mutex guards all but the channels.
type queue struct {
	channel string
	events  chan struct{} // one event that nobody has acted on yet
	turns   chan struct{} // the same for events that say that it is other processes' turn
	waiters []*waiter
	next    time.Time // when the first looks again without an event
	idle    time.Time // since when nobody waits; zero while somebody does
	// restraint is how long the first lets pass before he asks again; only he knows it.
	restraint time.Duration
	passed    int // how many times in a row the lock went from one waiter here to the next
}

// waiter is one call of Lock that waits.
type waiter struct {
	claim   claim
	first   chan struct{} // closed when it is its turn
	next    time.Time     // when to look without an event; set before that
	err     error         // why there is no point in asking; set before that
	offers  chan offer    // the lock, from the one who had it
	offered bool          // it is on its way, or has arrived
}

func newQueue(channel string) *queue {
	return &queue{channel: channel, events: make(chan struct{}, 1), turns: make(chan struct{}, 1)}
}

// turn is notify for a release after which nobody who waits is to hold back.
func (q *queue) turn() {
	select {
	case q.turns <- struct{}{}:
	default: // there is one already
	}
}

// notify keeps the event for the first waiter, also for one who becomes it later.
func (q *queue) notify() {
	select {
	case q.events <- struct{}{}:
	default: // there is one already
	}
}

// push appends a waiter, who knows that the lock is taken for the pause; 0 says that he did not ask.
func (q *queue) push(c claim, pause time.Duration) *waiter {
	w := &waiter{claim: c, first: make(chan struct{}), offers: make(chan offer, 1)}
	q.waiters = append(q.waiters, w)
	q.idle = time.Time{}
	if pause > 0 {
		q.next = time.Now().Add(pause)
	}
	if len(q.waiters) == 1 {
		q.promote()
		if pause == 0 { // those whom he meant to wait behind have gone
			q.notify()
		}
	}
	return w
}

// promote tells the first waiter that it is his turn.
func (q *queue) promote() {
	w := q.waiters[0]
	w.next = q.next
	close(w.first)
}

// successor returns the first waiter, to whom the lock will be passed, or nil when it is the others' turn.
func (q *queue) successor() *waiter {
	if len(q.waiters) == 0 || q.waiters[0].offered || q.waiters[0].claim.copies > 0 || q.passed >= passLimit {
		q.passed = 0
		return nil
	}
	q.passed++
	q.waiters[0].offered = true
	return q.waiters[0]
}

// outcome is how a waiter left.
type outcome struct {
	obtained bool
	lease    time.Duration
	err      error
	broken   bool // err is Redis's, and not only his
}

// pop removes a waiter. If he was first the next one is now; he asks at once unless the one who left has the lock.
// Redis's error is everybody's: asking one by one would make the last wait for all timeouts.
func (q *queue) pop(w *waiter, o outcome) {
	i := slices.Index(q.waiters, w)
	if i < 0 {
		return // another one's error was his too
	}
	q.waiters = slices.Delete(q.waiters, i, i+1)
	if i > 0 {
		return
	}
	switch {
	case o.obtained:
		q.next = time.Now().Add(o.lease + afterLease)
	case o.broken:
		q.fail(o.err)
	default:
		q.notify()
	}
	if len(q.waiters) > 0 {
		q.promote()
	}
}

// fail ends all waits with the error.
func (q *queue) fail(err error) {
	for _, w := range q.waiters {
		w.err = err
		close(w.first)
	}
	q.waiters = nil
}

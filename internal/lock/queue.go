package lock

import (
	"slices"
	"time"
)

// queue is where those of one process stand who wait for the same event of a channel. The first is told of it and asks
// Redis; the others wait until they are first, so that a release makes one of them ask and not all. The mutex of pubsub
// guards all but the channels.
type queue struct {
	events  chan struct{} // one event that nobody has acted on yet
	turns   chan struct{} // the same for events that say that it is other processes' turn
	waiters []*waiter
	next    time.Time // when the first looks again without an event
	// restraint is how long the first lets pass before it asks again; only it knows.
	restraint time.Duration
	handedOff int // how many times in a row the lock went from one waiter here to the next
}

// waiter is one call of Lock that waits.
type waiter struct {
	claim   claim
	first   chan struct{} // closed when it is its turn
	next    time.Time     // when to look without an event; set before that
	failed  chan error    // why there is no point in asking
	offers  chan offer    // the lock, from the one who had it
	offered bool          // it is on its way, or has arrived
}

func newQueue() *queue {
	return &queue{events: make(chan struct{}, 1), turns: make(chan struct{}, 1)}
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

// push appends a waiter, who knows that the lock is taken for the pause; 0 says that they did not ask.
func (q *queue) push(c claim, pause time.Duration) *waiter {
	w := &waiter{claim: c, first: make(chan struct{}), failed: make(chan error, 1), offers: make(chan offer, 1)}
	q.waiters = append(q.waiters, w)
	if pause > 0 {
		q.next = time.Now().Add(pause)
	}
	if len(q.waiters) == 1 {
		q.promote()
		if pause == 0 { // those behind whom they meant to wait have gone
			q.notify()
		}
	}
	return w
}

// promote tells the first waiter that it is their turn.
func (q *queue) promote() {
	w := q.waiters[0]
	w.next = q.next
	close(w.first)
}

// successor returns the first waiter, to whom the lock will be handed, or nil when it is the others' turn.
func (q *queue) successor() *waiter {
	if len(q.waiters) == 0 || q.waiters[0].offered || q.waiters[0].claim.asks || q.handedOff >= handOffLimit {
		q.handedOff = 0
		return nil
	}
	q.handedOff++
	q.waiters[0].offered = true
	return q.waiters[0]
}

// outcome is how a waiter left.
type outcome struct {
	obtained bool
	lease    time.Duration
	err      error
	broken   bool // err is Redis's, and not only the waiter's
}

// pop removes a waiter. If they were first the next one is now, who asks at once unless the one who left has the lock.
// Redis's error is everybody's: asking one by one would make the last wait for all timeouts.
func (q *queue) pop(w *waiter, o outcome) {
	i := slices.Index(q.waiters, w)
	if i < 0 {
		return // another one's error was theirs too
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
		select {
		case w.failed <- err:
		default: // it was told already
		}
	}
	q.waiters = nil
}

package lock

import (
	"slices"
	"strings"
	"time"
)

// topic is one channel, and those of this process who wait there, in the order in which they came. Where Redis has no
// queue the first of them asks Redis, and the others wait until they are first, so that a release makes one of them
// ask and not all. Where it has one each of them asks when Redis says that it is their turn. The mutex of pubsub
// guards all but the channels.
type topic struct {
	lock    *Lock // anybody's: says what is asked to keep places
	events  chan struct{}
	turns   chan struct{} // the same for events that say that it is other processes' turn
	waiters []*waiter
	named   map[string]*waiter // by their requests
	next    time.Time          // when the first looks again without an event
	// restraint is how long the first lets pass before it asks again; only it knows.
	restraint time.Duration
	handedOff int // how many times in a row the lock went from one waiter here to the next

	idle time.Time // since when nobody waits; zero while somebody does
	due  time.Time // when the places are kept next
	gone []string  // requests that do not wait any more, and have a place
}

// waiter is one call of Lock that waits.
type waiter struct {
	claim   claim
	events  chan struct{} // one event that nobody has acted on yet
	first   chan struct{} // closed when it may ask
	next    time.Time     // when to look without an event; set before that
	failed  chan error    // why there is no point in asking
	offers  chan offer    // the lock, from the one who had it
	offered bool          // it is on its way, or has arrived
}

func newTopic(l *Lock) *topic {
	return &topic{
		lock: l, events: make(chan struct{}, 1), turns: make(chan struct{}, 1), named: map[string]*waiter{},
		due: time.Now().Add(placeRenewal),
	}
}

// queued reports whether those who wait have places in a queue in Redis. An acquire that is refused leaves one when its
// claim listens, and a release must follow when the wait is given up.
func (t *topic) queued() bool { return t.lock.kind.stay != nil }

// signal leaves an event in a channel, also for one who looks later.
func signal(events chan struct{}) {
	select {
	case events <- struct{}{}:
	default: // there is one already
	}
}

// notify makes all ask who may: the first, or one who becomes it later.
func (t *topic) notify() {
	signal(t.events)
	if t.queued() {
		for _, w := range t.waiters {
			signal(w.events)
		}
	}
}

// tell makes those with these requests ask. One who has left and still has a place, because the message crossed with it
// or it could not be given up, is remembered: nobody else would come past that place.
func (t *topic) tell(requests []string) {
	for _, r := range requests {
		if w := t.named[r]; w != nil {
			signal(w.events)
		} else if len(t.gone) < mostGone {
			t.gone, t.due = append(t.gone, r), time.Time{}
		}
	}
}

// mostGone is how many places one script removes.
const mostGone = 100

// deliver acts on a message.
func (t *topic) deliver(text string) {
	switch {
	case t.queued():
		t.tell(strings.Fields(text))
	case text == othersTurn:
		signal(t.turns)
	default:
		signal(t.events)
	}
}

// push appends a waiter, who knows that the lock is taken for the pause; 0 says that they did not ask.
func (t *topic) push(c claim, pause time.Duration) *waiter {
	w := &waiter{
		claim: c, events: t.events, first: make(chan struct{}), failed: make(chan error, 1),
		offers: make(chan offer, 1),
	}
	t.idle = time.Time{}
	t.waiters, t.named[c.request] = append(t.waiters, w), w
	if pause > 0 {
		t.next = time.Now().Add(pause)
	}
	switch {
	case t.queued():
		w.events = make(chan struct{}, 1)
		close(w.first)
		if pause > 0 {
			t.soonerDue(t.next)
		}
	case len(t.waiters) == 1:
		t.promote()
	default:
		return w
	}
	if pause == 0 { // those behind whom they meant to wait have gone, or Redis has not given them a place
		signal(w.events)
	}
	return w
}

// promote tells the first waiter that it is their turn.
func (t *topic) promote() {
	w := t.waiters[0]
	w.next = t.next
	close(w.first)
}

// successor returns the first waiter, to whom the lock will be handed, or nil when it is the others' turn.
func (t *topic) successor() *waiter {
	if t.lock.kind.handOn == nil || len(t.waiters) == 0 || t.waiters[0].offered || t.waiters[0].claim.asks ||
		t.handedOff >= handOffLimit {
		t.handedOff = 0
		return nil
	}
	t.handedOff++
	t.waiters[0].offered = true
	return t.waiters[0]
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
func (t *topic) pop(w *waiter, o outcome) {
	i := slices.Index(t.waiters, w)
	if i < 0 {
		return // another one's error was theirs too
	}
	t.waiters = slices.Delete(t.waiters, i, i+1)
	delete(t.named, w.claim.request)
	if o.broken && (i == 0 || t.queued()) {
		t.fail(o.err)
	}
	if len(t.waiters) == 0 {
		t.idle = time.Now()
	}
	if i > 0 || t.queued() {
		return
	}
	if o.obtained {
		t.next = time.Now().Add(o.lease + afterLease)
	} else {
		signal(t.events)
	}
	if len(t.waiters) > 0 {
		t.promote()
	}
}

// fail ends all waits with the error.
func (t *topic) fail(err error) {
	for _, w := range t.waiters {
		select {
		case w.failed <- err:
		default: // it was told already
		}
	}
	t.waiters = nil
	clear(t.named)
}

// soonerDue makes the places be kept by the given time.
func (t *topic) soonerDue(at time.Time) {
	if at.Before(t.due) {
		t.due = at
	}
}

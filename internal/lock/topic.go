package lock

import (
	"slices"
	"strings"
	"time"
)

// topic is one channel, and those of this process who wait there, in the order in which they came. Without a queue in
// Redis the first of them asks Redis, and the others wait until they are first, so that a release makes one of them
// ask and not all. With one, each of them asks when Redis says that it is their turn. In both cases those whose owner
// has the lock ask at once. The mutex of pubsub guards all but the channels.
type topic struct {
	lock    *Lock // anybody's: says what is asked to keep places
	events  chan struct{}
	turns   chan struct{} // the same for events that say that it is other processes' turn
	waiters []*waiter
	named   map[string]*waiter // by their requests
	next    time.Time          // when the first looks again without an event
	// restraint is how long the first lets pass before it asks again; only it knows.
	restraint time.Duration
	handedOff int   // how many times in a row the lock went from one waiter here to the next
	holder    Owner // who had the lock when the first asked last, if kinds without a queue know

	idle time.Time // since when nobody waits; zero while somebody does
	due  time.Time // when the places are kept next
	gone []string  // places, without the process, whose requests do not wait any more
}

// waiter is one call of Lock that waits.
type waiter struct {
	claim   claim
	reads   bool          // it is for the reading side of a read-write lock
	events  chan struct{} // it is to ask, first or not: one event that it has not acted on yet
	first   chan struct{} // closed when it is the first; never where Redis has a queue
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

// tell makes those with these places ask, which are named without the process. One who has left and still has a
// place, because the message crossed with it or it could not be given up, is remembered: nobody else would come past
// that place.
func (t *topic) tell(places []string) {
	for _, place := range places {
		request, _, _ := strings.Cut(place, " ")
		if w := t.named[request]; w != nil {
			signal(w.events)
		} else if len(t.gone) < mostGone {
			t.gone, t.due = append(t.gone, place), time.Time{}
		}
	}
}

// callAlong makes all ask who wait for the owner, because the owner has the lock; if that is only for reading, those
// alone who wait to read.
func (t *topic) callAlong(o Owner, reading bool) {
	for _, w := range t.waiters {
		if w.claim.owner == o && (w.reads || !reading) {
			signal(w.events)
		}
	}
}

// heldBy keeps who has the lock, as the first was told or has it itself, and makes the others of that owner ask. One
// who comes later asks because it is kept.
func (t *topic) heldBy(o Owner) {
	if t.holder = o; o != "" {
		t.callAlong(o, false)
	}
}

// mostGone is how many places one script removes.
const mostGone = 100

// deliver acts on a message.
func (t *topic) deliver(text string) {
	switch {
	case strings.HasPrefix(text, "="), strings.HasPrefix(text, "+"): // queue.lua: call_along
		t.callAlong(Owner(text[1:]), text[0] == '+')
	case t.queued():
		t.tell(strings.Split(text, "\n"))
	case text == othersTurn:
		signal(t.turns)
	default:
		signal(t.events)
	}
}

// push appends a waiter, who knows that the lock is taken for the pause; 0 says that they did not ask.
func (t *topic) push(l *Lock, c claim, pause time.Duration) *waiter {
	w := &waiter{
		claim: c, reads: l.kind.name == "read", events: make(chan struct{}, 1), first: make(chan struct{}),
		failed: make(chan error, 1), offers: make(chan offer, 1),
	}
	fresh := t.idle.IsZero() && len(t.waiters) == 0
	t.idle = time.Time{}
	t.waiters, t.named[c.request] = append(t.waiters, w), w
	if pause > 0 {
		t.next = time.Now().Add(pause)
	}
	ask := pause == 0 // those behind whom it meant to wait have gone, or Redis has not given it a place
	switch {
	case t.queued():
		if pause > 0 {
			t.soonerDue(t.next)
		}
		ask = ask || !fresh // it may have been told between its answer and now
		t.gone = slices.DeleteFunc(t.gone, func(place string) bool { return strings.HasPrefix(place, c.request+" ") })
	case len(t.waiters) == 1:
		t.promote()
	default:
		ask = l.kind.owned && c.owner == t.holder
	}
	if ask {
		signal(w.events)
	}
	return w
}

// promote tells the first waiter that it is the first.
func (t *topic) promote() {
	w := t.waiters[0]
	w.next = t.next
	close(w.first)
}

// successor returns the first waiter, to whom the lock will be handed, or nil when it is the others' turn.
func (t *topic) successor() *waiter {
	if t.lock.kind.handOn == nil || len(t.waiters) == 0 || t.waiters[0].offered || t.handedOff >= handOffLimit {
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
	if o.obtained && t.lock.kind.owned && !t.queued() {
		t.heldBy(w.claim.owner)
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

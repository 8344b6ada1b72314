package lock

import (
	"slices"
	"strings"
	"time"
)

// handOffLimit is how many times in a row a process may hand a lock to its own waiters before it frees the lock for
// other processes.
const handOffLimit = 16

// othersTurn is the message of a process that has reached handOffLimit and frees the lock for the others.
const othersTurn = "turn"

// offer is a lock that was handed to a waiter, by a request sent at the given time.
type offer struct {
	token int64
	sent  time.Time
}

// topic is one channel and the waiters of this process on it, in order of arrival. Without a queue in Redis, the first
// waiter asks Redis and the others wait until they are first, so that a release makes one waiter ask instead of all.
// With a queue in Redis, each waiter asks when Redis says that it is its turn. In both cases, waiters whose owner
// already has the lock ask at once. pubsub's mutex guards everything but the channels.
type topic struct {
	lock    *Lock // the lock of any waiter; its scripts renew the places
	events  chan struct{}
	turns   chan struct{} // as events, after a process let the others have their turn
	waiters []*waiter
	named   map[string]*waiter // by request
	next    time.Time          // when the first waiter asks without an event
	// restraint is how long the first waiter delays its next try after an event; only that waiter uses it.
	restraint time.Duration
	handedOff int   // how often in a row the lock was handed on within this process
	holder    Owner // who had the lock at the first waiter's last try; "" with a queue in Redis

	idle time.Time // when the last waiter left; zero while somebody waits
	due  time.Time // when the places are renewed next
	gone []string  // places to remove, without the process: their waiters have left
}

// waiter is one waiting call of Lock.
type waiter struct {
	claim   claim
	reads   bool          // it wants to read a read-write lock
	events  chan struct{} // tells it to ask, first or not; holds one pending event
	first   chan struct{} // closed when it becomes the first; never with a queue in Redis
	next    time.Time     // when to ask without an event; set before first is closed
	failed  chan error    // an error that ends the wait
	offers  chan offer    // the lock, handed on by its holder
	offered bool          // an offer is on its way or has arrived
}

func newTopic(l *Lock) *topic {
	return &topic{
		lock: l, events: make(chan struct{}, 1), turns: make(chan struct{}, 1), named: map[string]*waiter{},
		due: time.Now().Add(placeRenewal),
	}
}

// queued reports whether waiters have places in a queue in Redis. Then Redis gives a place to a claim that it refuses,
// if the claim waits (claim.listens). A release removes the place when the wait is given up.
func (t *topic) queued() bool { return t.lock.kind.stay != nil }

// signal puts an event into the channel, where it stays until somebody reads it.
func signal(events chan struct{}) {
	select {
	case events <- struct{}{}:
	default: // one is pending already
	}
}

// notify makes the waiters ask that may: the first, now or later, or with a queue in Redis, all.
func (t *topic) notify() {
	signal(t.events)
	if t.queued() {
		for _, w := range t.waiters {
			signal(w.events)
		}
	}
}

// tell signals the waiters with these places (named without the process). A place whose waiter has left is remembered
// for removal, because the queue would stop at it: the waiter left while the message was on its way, or its place could
// not be given up.
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

// callAlong makes the owner's waiters ask, because the owner has the lock: all of them, or only the readers if the
// owner only reads.
func (t *topic) callAlong(o Owner, reading bool) {
	for _, w := range t.waiters {
		if w.claim.owner == o && (w.reads || !reading) {
			signal(w.events)
		}
	}
}

// heldBy records who has the lock, as the first waiter learned or because it got the lock itself, and makes the owner's
// other waiters ask. Waiters that come later compare their owner with it.
func (t *topic) heldBy(o Owner) {
	if t.holder = o; o != "" {
		t.callAlong(o, false)
	}
}

// mostGone is how many places one script removes at most.
const mostGone = 100

// deliver handles a message.
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

// push appends a waiter. pause is how long the lock is known to be taken; 0 means that the waiter has not asked yet.
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
	ask := pause == 0 // the waiters ahead have gone, or it has no place in Redis yet
	switch {
	case t.queued():
		if pause > 0 {
			t.soonerDue(t.next)
		}
		ask = ask || !fresh // its turn may have come since its refusal
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

// successor returns the waiter to whom the lock will be handed, or nil if it is the other processes' turn.
func (t *topic) successor() *waiter {
	if t.lock.kind.handOn == nil || len(t.waiters) == 0 || t.waiters[0].offered || t.handedOff >= handOffLimit {
		t.handedOff = 0
		return nil
	}
	t.handedOff++
	t.waiters[0].offered = true
	return t.waiters[0]
}

// outcome is how a wait ended.
type outcome struct {
	obtained bool
	lease    time.Duration
	err      error
	broken   bool // err is about Redis, not only about this waiter
}

// pop removes a waiter. If it was the first, the next one becomes first, and asks at once unless the lock was just
// obtained. A Redis error ends all waits: asking one by one would make the last waiter sit through everybody's
// timeouts.
func (t *topic) pop(w *waiter, o outcome) {
	i := slices.Index(t.waiters, w)
	if i < 0 {
		return // already removed by another waiter's error
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
		default: // it has an error already
		}
	}
	t.waiters = nil
	clear(t.named)
}

// soonerDue moves the next renewal of the places forward to the given time.
func (t *topic) soonerDue(at time.Time) {
	if at.Before(t.due) {
		t.due = at
	}
}

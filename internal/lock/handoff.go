package lock

import (
	"context"
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

// finish releases the lock, handing it to the next waiter of this process if there is one. It reports whether the claim
// held it.
func (l *Lock) finish(ctx context.Context, c claim, e ending) (held bool, err error) {
	t, next := l.locker.pubsub.successor(l.key)
	if next == nil {
		if l.locker.pubsub.waiting(l.key) {
			e.publish = othersTurn
		}
		return l.release(ctx, c, e)
	}
	e.next = &next.claim
	held, o, err := l.releaseTo(ctx, c, e)
	if o == nil {
		signal(t.events) // the waiter may have the lock, or it is free: the waiter has to ask Redis
		return held, err
	}
	l.locker.sawToken(o.token)
	next.offers <- *o
	return held, err
}

package lock

import (
	"context"
	"time"
)

// handOffLimit is how many times in a row a lock goes from one waiter of a process to the next without being free for
// those of other processes.
const handOffLimit = 16

// othersTurn is what a process publishes when it has handed a lock on among its own as often as it may.
const othersTurn = "turn"

// offer is a lock that was handed to a waiter by a request sent at the given time.
type offer struct {
	token int64
	sent  time.Time
}

// finish gives the lock back: to the next waiter of this process, else to all. It reports whether the claim held it.
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
		signal(t.events) // they may have it all the same, or it is free: they have to ask
		return held, err
	}
	l.locker.sawToken(o.token)
	next.offers <- *o
	return held, err
}

package lock

import (
	"context"
	"errors"
	"time"
)

// When a waiter looks again without having been told to.
const (
	afterLease  = 5 * time.Millisecond // after the holder's lease should be over: Redis rounds it down
	foreignPoll = time.Second          // when the key has no time to live: it is none of ours
	// After one who was told of a release came too late, the next release does not hurry him: he lets so long pass first,
	// and twice as long each time that it happens again. Else two who take a lock as fast as they can make each other
	// ask in vain, and hand it over, at each of their turns.
	afterRefusal     = time.Millisecond
	longAfterRefusal = 8 * time.Millisecond
)

// wait takes the lock, or its turn in the queue of those of this Locker who wait for it. Only the first of them asks
// Redis: when the queue is told of a release, and when the holder's lease should be over. Subscribed first, then tried,
// then waited: a release in between is not missed, because the confirmation of the subscription is an event like it.
func (l *Lock) wait(ctx context.Context, c claim) (*Hold, error) {
	channel := l.protocol.channel(c)
	var pause time.Duration // until the holder's lease is over, as far as is known
	if l.traits.owned || !l.locker.hub.waiting(channel) {
		h, until, err := l.attempt(ctx, &c)
		if !mustWait(err) {
			return h, err
		}
		pause = until
	}
	q, w := l.locker.hub.join(context.WithoutCancel(ctx), channel, c, pause)
	p, hasPlace := l.protocol.(placer)
	if hasPlace {
		l.locker.places.add(q, p.stay(c))
	}
	h, err := l.await(ctx, &c, q, w)
	if hasPlace {
		l.locker.places.remove(q)
	}
	offered := l.locker.hub.leave(q, w, outcome{
		obtained: err == nil, lease: c.lease, err: err,
		broken: ctx.Err() == nil && !errors.Is(err, ErrLost) && !errors.Is(err, ErrTooFewCopies),
	})
	if err != nil && (hasPlace || offered) {
		l.giveUp(ctx, c)
	}
	return h, err
}

// mustWait reports whether an attempt ended with err because others have the lock.
func mustWait(err error) bool { return errors.Is(err, ErrNotObtained) && !errors.Is(err, ErrUpgrade) }

// await waits for the first place in the queue, and there for the lock.
func (l *Lock) await(ctx context.Context, c *claim, q *queue, w *waiter) (*Hold, error) {
	select {
	case <-w.first:
	case <-ctx.Done():
		return nil, l.refused(ctx.Err())
	}
	if w.err != nil {
		return nil, w.err
	}
	leaseOver := time.NewTimer(time.Until(w.next))
	defer leaseOver.Stop()
	events, calm := q.events, (<-chan time.Time)(nil)
	for {
		select {
		case <-ctx.Done():
			return nil, l.refused(ctx.Err())
		case o := <-w.offers: // from one of this process
			return l.accept(*c, o)
		case <-calm:
			if events = q.events; len(events) == 0 {
				q.restraint = 0
			}
			continue
		case <-q.turns: // the others have had theirs
		case <-events: // released; or subscribed, also again after a lost connection
			q.restraint = min(max(2*q.restraint, afterRefusal), longAfterRefusal)
			events, calm = nil, time.After(q.restraint)
		case <-leaseOver.C: // the holder may have died
		}
		h, pause, err := l.attempt(ctx, c)
		if !mustWait(err) {
			return h, err
		}
		leaseOver.Reset(pause)
	}
}

// untilNextTry is how long a waiter waits at most for an event, when the holder's lease has so long to go.
func untilNextTry(lease time.Duration) time.Duration {
	if lease < 0 {
		return foreignPoll
	}
	return lease + afterLease
}

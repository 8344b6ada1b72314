package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// When a waiter looks again without having been told to.
const (
	afterLease = 5 * time.Millisecond // after the holder's lease should be over: Redis rounds it down
	// lookAgain is how long a waiter relies on being told. Others of the same process wait for the first, so it is one
	// script for each lock in that time.
	lookAgain   = 4 * time.Second
	foreignPoll = time.Second // when the key has no time to live: it is none of ours
	// silentTime is how long the refusal that a waiter has heard is good while the next answer does not come.
	silentTime = time.Second
	// After one who was told of a release came too late, the next release does not hurry them: they let so long pass
	// first, and twice as long each time that it happens again. Else two who take a lock as fast as they can make each
	// other ask in vain, and hand it over, at each of their turns.
	afterRefusal     = time.Millisecond
	longAfterRefusal = 8 * time.Millisecond
)

// wait takes the lock, or its turn in the queue of those of this Locker who wait for it. Only the first of them asks
// Redis: when the queue is told of a release, and when the holder's lease should be over. Subscribed first, then tried,
// then waited: a release in between is not missed, because the confirmation of the subscription is an event like it.
func (l *Lock) wait(ctx context.Context, c claim) (*Hold, error) {
	channel, queued, pubsub := l.channel(), l.kind.stay != nil, &l.locker.pubsub
	var pause time.Duration // until the holder's lease is over, as far as is known
	// In a queue of Redis, messages for the request may come as soon as it has a place.
	if !queued && (l.kind.owned || !pubsub.waiting(channel)) || queued && !pubsub.known(channel) {
		h, a, err := l.attempt(ctx, &c)
		if !waits(err) || ctx.Err() != nil {
			if err != nil && c.unsure {
				l.abandon(ctx, c)
			}
			return h, err
		}
		pause = untilNextTry(a.wait)
	}
	t, w := pubsub.join(context.WithoutCancel(ctx), l, c, pause)
	h, err := l.await(ctx, &c, t, w)
	offered := pubsub.leave(t, w, outcome{
		obtained: err == nil, lease: c.lease, err: err,
		broken: err != nil && ctx.Err() == nil && !ownFailure(err),
	})
	if err != nil && (queued || offered || c.unsure) {
		l.abandon(ctx, c)
	}
	return h, err
}

// ownFailure reports whether err says nothing about Redis, only about one waiter.
func ownFailure(err error) bool {
	return errors.Is(err, ErrNotObtained) || errors.Is(err, ErrLost) || errors.Is(err, errLeft)
}

// await waits for the lock: until it is told to ask, or is the first, who hears what is published and looks by itself.
func (l *Lock) await(ctx context.Context, c *claim, t *topic, w *waiter) (*Hold, error) {
	leaseOver := time.NewTimer(lookAgain)
	defer leaseOver.Stop()
	leaseOver.Stop() // where Redis has a queue one script looks for all who have places (keepPlaces)
	first, events, turns := w.first, (<-chan struct{})(nil), (<-chan struct{})(nil)
	var calm <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil, l.leftWaiting(ctx.Err())
		case err := <-w.failed:
			return nil, err
		case o := <-w.offers: // from one of this process
			return l.accept(*c, o.token, o.sent)
		case <-first:
			first, events, turns = nil, t.events, t.turns
			leaseOver.Reset(min(time.Until(w.next), lookAgain))
			continue
		case <-calm:
			if events = t.events; len(events) == 0 {
				t.restraint = 0
			}
			continue
		case <-w.events: // it is its turn in Redis's queue, or its owner has the lock
		case <-turns: // the others have had theirs
		case <-events: // released; or subscribed, also again after a lost connection
			t.restraint = min(max(2*t.restraint, afterRefusal), longAfterRefusal)
			events, calm = nil, time.After(t.restraint)
		case <-leaseOver.C: // the holder may have died
		}
		asked := time.Now()
		h, a, err := l.attempt(ctx, c)
		if errors.Is(err, ErrNoAnswer) && ctx.Err() != nil && time.Since(asked) < silentTime {
			return nil, l.leftWaiting(ctx.Err()) // Redis has not been silent for long
		}
		if !waits(err) {
			return h, err
		}
		if a.lapsed {
			l.locker.pubsub.on(l.channel(), (*topic).notify) // all of this process have lost their places
		}
		if first == nil {
			leaseOver.Reset(min(untilNextTry(a.wait), lookAgain))
			l.locker.pubsub.on(l.channel(), func(t *topic) { t.heldBy(a.holder) })
		}
	}
}

// leftWaiting is the error of a wait that was refused, and is left: others had the lock when Redis was last heard. If
// it has said nothing since, for two seconds or through a connection that was lost, nobody knows.
func (l *Lock) leftWaiting(why error) error {
	if l.locker.pubsub.silent.Load() {
		return fmt.Errorf("lock %q: %w: %w", l.name, ErrNoAnswer, why)
	}
	return l.refused(why)
}

// untilNextTry is how long a waiter waits at most for an event, when the holder's lease has so long to go.
func untilNextTry(lease time.Duration) time.Duration {
	if lease < 0 {
		return foreignPoll
	}
	return lease + afterLease
}

package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// When a waiter asks again without an event.
const (
	afterLease = 5 * time.Millisecond // added to the holder's remaining lease, which Redis rounds down
	// lookAgain is how long a waiter relies on events alone. Only the first waiter of a process asks, so this costs one
	// script per lock in that time.
	lookAgain   = 4 * time.Second
	foreignPoll = time.Second // for a key without a time to live, which this package never writes
	// silentTime is how long an attempt may stay unanswered until a caller who gives up hears that Redis does not
	// answer. Before that they hear ErrNotObtained, by the refusal of the attempt before.
	silentTime = time.Second
	// If a waiter was notified of a release but came too late, it delays its next try after a release, and doubles the
	// delay each time. Otherwise two processes that take a lock as fast as they can would wake each other in vain, and
	// hand the lock over, on every turn.
	afterRefusal     = time.Millisecond
	longAfterRefusal = 8 * time.Millisecond
)

// wait takes the lock, or queues behind the other waiters of this Locker. Only the first waiter asks Redis: when a
// release is published, and when the holder's lease should have ended. It subscribes before it tries, and the
// confirmation of the subscription counts as an event, so no release in between is missed.
func (l *Lock) wait(ctx context.Context, c claim) (*Hold, error) {
	channel, queued, pubsub := l.channel(), l.kind.stay != nil, &l.locker.pubsub
	var pause time.Duration // until the holder's lease is over, as far as is known
	// With a queue in Redis, messages for the request may arrive as soon as it has a place there.
	if !queued && (l.kind.owned || !pubsub.waiting(channel)) || queued && !pubsub.known(channel) {
		h, a, err := l.insist(ctx, &c)
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
	return errors.Is(err, ErrNotObtained) || errors.Is(err, errLeft)
}

// await waits until the waiter is signalled, or until it is the first and a release is published. Then it tries to take
// the lock.
func (l *Lock) await(ctx context.Context, c *claim, t *topic, w *waiter) (*Hold, error) {
	leaseOver := time.NewTimer(lookAgain)
	defer leaseOver.Stop()
	leaseOver.Stop() // with a queue in Redis, keepPlaces checks for all waiters
	first, events, turns := w.first, (<-chan struct{})(nil), (<-chan struct{})(nil)
	var calm <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil, l.leftWaiting(ctx.Err())
		case err := <-w.failed:
			return nil, err
		case o := <-w.offers: // handed on within this process
			if h, err := l.accept(*c, o.token, o.sent); err == nil {
				return h, nil
			}
			c.unsure = true // it has the lock, or had it: it asks
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
		case <-turns: // other processes have had their turn
		case <-events: // released, or subscribed (again)
			t.restraint = min(max(2*t.restraint, afterRefusal), longAfterRefusal)
			events, calm = nil, time.After(t.restraint)
		case <-leaseOver.C: // the holder may have died
		}
		asked := time.Now()
		h, a, err := l.insist(ctx, c)
		noAnswer := errors.Is(err, ErrNoAnswer) && !errors.Is(err, errTooLate)
		if ended := ctx.Err(); ended != nil && (noAnswer || errors.Is(err, ended)) &&
			time.Since(asked) < silentTime { // the last refusal is recent enough
			return nil, l.leftWaiting(ended)
		}
		if !waits(err) {
			return h, err
		}
		if a.lapsed {
			l.locker.pubsub.on(l.channel(), (*topic).notify) // all waiters here have lost their places
		}
		if first == nil {
			leaseOver.Reset(min(untilNextTry(a.wait), lookAgain))
			l.locker.pubsub.on(l.channel(), func(t *topic) { t.heldBy(a.holder) })
		}
	}
}

// leftWaiting returns the error of a wait that its caller gave up: ErrNotObtained, because others had the lock at
// Redis's last answer, or ErrNoAnswer if Redis has been silent since or the connection was lost.
func (l *Lock) leftWaiting(why error) error {
	if l.locker.pubsub.silent.Load() {
		return fmt.Errorf("lock %q: %w: %w", l.name, ErrNoAnswer, why)
	}
	return l.refused(why)
}

// untilNextTry returns how long a waiter waits at most for an event, given the rest of the holder's lease.
func untilNextTry(lease time.Duration) time.Duration {
	if lease < 0 {
		return foreignPoll
	}
	return lease + afterLease
}

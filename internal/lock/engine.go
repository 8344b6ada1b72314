package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Time limits of calls to Redis, where the caller's context does not set a shorter one.
const (
	acquireTimeout = 3 * time.Second
	releaseTimeout = 3 * time.Second
)

// When a waiter looks again without having been told to.
const (
	afterLease  = 5 * time.Millisecond // after the holder's lease should be over: Redis rounds it down
	foreignPoll = time.Second          // when the key has no time to live: it is none of ours
)

// engine takes and awaits one lock, whatever its kind.
type engine struct {
	name      string
	settings  settings
	remote    remote
	subscribe func(ctx context.Context, channels ...string) *redis.PubSub
}

func (e *engine) tryLock(ctx context.Context) (*Hold, error) {
	owner, err := e.newOwner()
	if err != nil {
		return nil, err
	}
	h, _, err := e.attempt(ctx, owner)
	return h, err
}

// lock waits. Subscribed first, then tried again, then waited: a release in between is not missed, because the
// confirmation of the subscription is an event like the release.
func (e *engine) lock(ctx context.Context) (*Hold, error) {
	owner, err := e.newOwner()
	if err != nil {
		return nil, err
	}
	h, wait, err := e.attempt(ctx, owner)
	if !errors.Is(err, ErrNotObtained) {
		return h, err
	}
	subscription := e.subscribe(ctx, e.remote.channel())
	defer func() { _ = subscription.Close() }() // nobody listens any more
	events := subscription.ChannelWithSubscriptions()
	leaseOver := time.NewTimer(wait)
	defer leaseOver.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %q: %w: %w", e.name, ErrNotObtained, ctx.Err())
		case <-events: // released; or subscribed, also again after a lost connection
		case <-leaseOver.C: // the holder may have died
		}
		h, wait, err = e.attempt(ctx, owner)
		if !errors.Is(err, ErrNotObtained) {
			return h, err
		}
		leaseOver.Reset(wait)
	}
}

// newOwner names one attempt to get the lock.
func (e *engine) newOwner() (string, error) {
	if err := e.settings.check(); err != nil {
		return "", fmt.Errorf("lock %q: %w", e.name, err)
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("lock %q: %w", e.name, err)
	}
	return id.String(), nil
}

// attempt asks for the lock once, and once more if the answer was lost. With ErrNotObtained it says when to ask again
// at the latest.
func (e *engine) attempt(ctx context.Context, owner string) (h *Hold, wait time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("lock %q: %w: %w", e.name, ErrNotObtained, err)
	}
	sent := time.Now()
	a, err := e.acquire(ctx, owner)
	if uncertain(err) && ctx.Err() == nil {
		sent = time.Now()
		a, err = e.acquire(ctx, owner)
	}
	switch {
	case err != nil:
		if uncertain(err) {
			e.giveUp(ctx, owner)
		}
		return nil, 0, fmt.Errorf("lock %q: %w", e.name, err)
	case !a.obtained:
		return nil, untilNextTry(a.wait), fmt.Errorf("lock %q: %w", e.name, ErrNotObtained)
	case time.Since(sent) >= e.settings.validity():
		e.giveUp(ctx, owner)
		return nil, 0, fmt.Errorf("lock %q: %w: the answer took longer than the lease", e.name, ErrLost)
	}
	return newHold(ctx, e, owner, a.token, sent), 0, nil
}

func (e *engine) acquire(ctx context.Context, owner string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	return e.remote.acquire(ctx, owner, e.settings.lease)
}

// release gives the lock back under a timeout of its own: it matters most when the caller's context is over. If the
// answer is lost it asks once more.
func (e *engine) release(ctx context.Context, owner string) (held bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	held, err = e.remote.release(ctx, owner)
	if uncertain(err) && ctx.Err() == nil {
		held, err = e.remote.release(ctx, owner)
	}
	return held, err
}

// giveUp releases what an acquire without an answer may have taken or may still take. If that fails too, the lease
// ends it.
func (e *engine) giveUp(ctx context.Context, owner string) {
	_, _ = e.release(ctx, owner)
}

// untilNextTry is how long a waiter waits at most for an event, when the holder's lease has so long to go.
func untilNextTry(lease time.Duration) time.Duration {
	if lease < 0 {
		return foreignPoll
	}
	return lease + afterLease
}

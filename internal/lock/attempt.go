package lock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Time limits of calls to Redis when the caller's context sets no shorter one. The first try of a release gets half of
// releaseTimeout, so that time is left for a second try if the connection is dead. An acquire gets a third of
// askTimeout, so that a Redlock reaches its majority before package group's timeout is over.
const (
	askTimeout     = 3 * time.Second
	releaseTimeout = 3 * time.Second
)

// heldUnder is the context key under which a hold stores itself in its contexts, one key per lock.
type heldUnder struct {
	locker *Locker
	key    string
}

// newRequest returns a unique name for a call.
func newRequest() string { return uuid.NewString() }

// newClaim returns the claim of one call of TryLock or Lock. It refuses invalid options, a call that is already
// cancelled, and a mutex that the caller holds.
func (l *Lock) newClaim(ctx context.Context) (claim, error) {
	if err := ctx.Err(); err != nil {
		return claim{}, fmt.Errorf("lock %q: %w", l.name, err)
	}
	if err := l.settings.check(); err != nil {
		return claim{}, fmt.Errorf("lock %q: %w", l.name, err)
	}
	c := claim{owner: l.owner, request: newRequest(), lease: l.settings.lease, latched: l.locker.repeats}
	if l.kind.owned {
		if err := l.owner.check(); err != nil {
			return claim{}, fmt.Errorf("lock %q: %w", l.name, err)
		}
		return c, nil
	}
	if c.owner != "" { // of a combined lock
		if uuid.Validate(string(c.owner)) != nil {
			return claim{}, fmt.Errorf("lock %q: %w: %q is no UUID", l.name, ErrInvalidOwner, c.owner)
		}
		c.request = string(c.owner)
	}
	c.owner = Owner(c.request)
	// Waiting under a context of a hold of the same mutex would deadlock: the context ends only with that hold.
	if h, ok := ctx.Value(heldUnder{l.locker, l.key}).(*Hold); ok && h.Err() == nil {
		return claim{}, l.refused(ErrReentry)
	}
	return c, nil
}

// insist is attempt for a caller that waits: an answer that took longer than the lease says nothing about the next one.
// The same claim may ask again, whatever has become of the lock that it got.
func (l *Lock) insist(ctx context.Context, c *claim) (h *Hold, a answer, err error) {
	for {
		h, a, err = l.attempt(ctx, c)
		if !errors.Is(err, errTooLate) || ctx.Err() != nil {
			return h, a, err
		}
	}
}

// attempt asks Redis for the lock, and asks again if the first answer was lost. With ErrNotObtained, the answer says
// when to ask again. attempt returns soon after ctx ends; if the acquire may still succeed after that, it marks the
// claim as unsure.
func (l *Lock) attempt(ctx context.Context, c *claim) (h *Hold, a answer, err error) {
	if err := l.mayLeave(ctx); err != nil { // the error does not say who has the lock
		return nil, answer{}, fmt.Errorf("lock %q: %w", l.name, err)
	}
	var sent time.Time
	err = l.locker.retry(ctx, l.keys.all, func(again bool) (err error) {
		c.remember(again) // the first request may still reach Redis
		sent = time.Now()
		a, err = l.acquire(ctx, patience(again), *c)
		return err
	})
	switch {
	case err != nil:
		c.remember(uncertain(err))
		err = unanswered(over(ctx), err)
	case a.upgrade:
		err = fmt.Errorf("%w: %w", ErrNotObtained, ErrUpgrade)
	case a.token == 0:
		err = ErrNotObtained
	default:
		if h, err = l.accept(*c, a.token, sent); err == nil {
			return h, a, nil
		}
		c.unsure = true // Redis gave it the lock
		return nil, a, err
	}
	return nil, a, fmt.Errorf("lock %q: %w", l.name, err)
}

// remember marks the claim as unsure if one of its acquires may have taken the lock, or may still take it.
func (c *claim) remember(unsure bool) {
	c.unsure, c.latched = c.unsure || unsure, c.latched || unsure
}

// abandon releases what an unanswered acquire took or may still take: the lock, or a place in the queue. Once ctx has
// ended it goes on in the background. If the release fails, the lease ends the lock and Redis forgets the place.
func (l *Lock) abandon(ctx context.Context, c claim) {
	_, _ = leavable(ctx, l, func() (bool, error) { return l.release(ctx, c, ending{}) })
}

// accept turns an obtained lock into a hold, unless its lease may have ended since the request was sent: errTooLate.
func (l *Lock) accept(c claim, token int64, sent time.Time) (*Hold, error) {
	if time.Since(sent) >= l.settings.validity() {
		return nil, fmt.Errorf("lock %q: %w", l.name, errTooLate)
	}
	return newHold(l, c, token, sent), nil
}

// refused wraps why into the error of a call that ends without the lock, together with ErrNotObtained.
func (l *Lock) refused(why error) error {
	return fmt.Errorf("lock %q: %w: %w", l.name, ErrNotObtained, why)
}

// answer is Redis's reply to an acquire. All fields but token belong to a refusal.
type answer struct {
	token   int64         // 0 if the acquire was refused
	upgrade bool          // the owner reads and wants to write
	wait    time.Duration // until the holder's lease ends, if it is not renewed
	lapsed  bool          // this process has lost its places in the queue
	holder  Owner         // who has the lock; "" for a mutex or with a queue in Redis
}

// patience returns how long to wait for an answer while Redis is slow: less for the first try than for a repetition.
func patience(again bool) time.Duration {
	if again {
		return askTimeout
	}
	return askTimeout / 3
}

// acquire sends one acquire to Redis.
func (l *Lock) acquire(ctx context.Context, within time.Duration, c claim) (a answer, err error) {
	a, err = read(l.locker.run(ctx, within, l.callAcquire(c)))
	l.locker.sawToken(a.token)
	return a, err
}

// read parses the reply to an acquire.
func read(cmd *redis.Cmd) (a answer, err error) {
	if token, ok := cmd.Val().(string); ok && cmd.Err() == nil {
		a.token, err = strconv.ParseInt(token, 10, 64)
		return a, err
	}
	got, err := cmd.Slice()
	if err != nil {
		return answer{}, err
	}
	odd := fmt.Errorf("acquire script answered %v", got)
	if len(got) < 2 {
		return answer{}, odd
	}
	ms, ok := got[1].(int64)
	if !ok {
		return answer{}, odd
	}
	a.upgrade, a.wait = got[0] == int64(-2), time.Duration(ms)*time.Millisecond
	if len(got) > 2 {
		holder, _ := got[2].(string)
		a.holder, a.lapsed = Owner(holder), got[2] == int64(1)
	}
	return a, nil
}

// ask runs a script and returns early, with ctx's error, once ctx ends.
func (l *Lock) ask(ctx context.Context, c call) *redis.Cmd {
	if err := l.mayLeave(ctx); err != nil {
		return failed(ctx, err)
	}
	answer, err := leavable(ctx, l, func() (*redis.Cmd, error) {
		return c.run(limit(ctx, askTimeout), l.locker.client), nil
	})
	if err == nil {
		err = answer.Err()
	}
	if timedOut(err) {
		return failed(ctx, unanswered(over(ctx), err))
	}
	return answer
}

// release gives the lock back. It has a timeout of its own, because a release matters most after the caller's context
// has ended. If the answer is lost, it asks once more.
func (l *Lock) release(ctx context.Context, c claim, e ending) (held bool, err error) {
	held, _, err = l.releaseTo(ctx, c, e)
	return held, err
}

// releaseTo is release for an ending that may hand the lock to a next claim. It also returns the offer for that claim,
// nil if the claim did not get the lock.
func (l *Lock) releaseTo(ctx context.Context, c claim, e ending) (held bool, o *offer, err error) {
	ctx = limit(context.WithoutCancel(ctx), releaseTimeout)
	sent := time.Now() // the next claim's lease begins with the first request that arrives
	err = l.locker.retry(ctx, l.keys.all, func(again bool) error {
		e.again = e.again || again
		within := releaseTimeout / 2
		if again {
			within = releaseTimeout // the last try
		}
		answer := l.locker.run(ctx, within, l.callRelease(c, e))
		if token, ok := answer.Val().(string); ok && answer.Err() == nil {
			held, o = true, &offer{sent: sent}
			o.token, err = strconv.ParseInt(token, 10, 64)
			return err
		}
		n, err := answer.Int()
		held = n == 1
		return err
	})
	return held, o, unanswered(nil, err)
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

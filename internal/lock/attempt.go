package lock

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Time limits of calls to Redis, where the caller's context does not set a shorter one. A release has half of its own
// for the first try, so that there is another one when a connection says nothing; what asks for a lock has a third, so
// that a majority of several is had before those who wait for it lose their patience.
const (
	askTimeout     = 3 * time.Second
	releaseTimeout = 3 * time.Second
)

// heldUnder is the key under which a hold's contexts name the lock.
type heldUnder struct {
	locker *Locker
	key    string
}

// newRequest returns a name that no other call has.
func newRequest() string { return uuid.NewString() }

// newClaim is one call of TryLock or Lock.
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
	if c.owner != "" {
		c.request = string(c.owner)
	}
	c.owner = Owner(c.request)
	// A context of a hold ends with it, so a wait under it cannot end well.
	if h, ok := ctx.Value(heldUnder{l.locker, l.key}).(*Hold); ok && h.Err() == nil {
		return claim{}, l.refused(ErrReentry)
	}
	return c, nil
}

// attempt asks for the lock, and once more if the answer was lost. With ErrNotObtained the answer says when to ask
// again. It returns soon after ctx is over; what may take the lock all the same makes the claim unsure.
func (l *Lock) attempt(ctx context.Context, c *claim) (h *Hold, a answer, err error) {
	if err := l.mayLeave(ctx); err != nil { // it says nothing of who has the lock
		return nil, answer{}, fmt.Errorf("lock %q: %w", l.name, err)
	}
	var sent time.Time
	err = l.locker.retry(ctx, l.keys.all, func(again bool) (err error) {
		c.remember(again) // the first may arrive yet
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
		c.unsure = true // it has the lock
		return nil, a, err
	}
	return nil, a, fmt.Errorf("lock %q: %w", l.name, err)
}

// remember makes a claim unsure one of whose acquires may have taken the lock, or may take it yet.
func (c *claim) remember(unsure bool) {
	c.unsure, c.latched = c.unsure || unsure, c.latched || unsure
}

// abandon releases what an acquire without an answer may have taken or may still take, soon after ctx is over in the
// background, whatever else is there: nothing but the lease would end it otherwise, or the place in the queue. If it
// fails they do.
func (l *Lock) abandon(ctx context.Context, c claim) {
	_, _ = leavable(ctx, l, func() (bool, error) { return l.release(ctx, c, ending{}) })
}

// accept makes a hold of a lock that was obtained by a request sent at the given time, unless its lease may be over.
func (l *Lock) accept(c claim, token int64, sent time.Time) (*Hold, error) {
	if time.Since(sent) >= l.settings.validity() {
		return nil, fmt.Errorf("lock %q: %w: the answer took longer than the lease", l.name, ErrLost)
	}
	return newHold(l, c, token, sent), nil
}

// refused is the error of a call that ends without the lock for a reason besides that others have it.
func (l *Lock) refused(why error) error {
	return fmt.Errorf("lock %q: %w: %w", l.name, ErrNotObtained, why)
}

// answer is what an acquire was told.
type answer struct {
	token   int64         // 0 when it was refused
	upgrade bool          // if so: its owner is in its own way
	wait    time.Duration // if so: when the lease of the present holder ends, unless they renew it
	lapsed  bool          // if so: this process had lost its places in the queue
	holder  Owner         // if so: who has the lock; "" where Redis has a queue, or each call its own owner
}

// patience is how long an answer is waited for while answers are slow, at first and when it was asked for before.
func patience(again bool) time.Duration {
	if again {
		return askTimeout
	}
	return askTimeout / 3
}

// acquire asks once.
func (l *Lock) acquire(ctx context.Context, within time.Duration, c claim) (a answer, err error) {
	a, err = read(l.locker.run(ctx, within, l.callAcquire(c)))
	l.locker.sawToken(a.token)
	return a, err
}

// read returns what an acquire was told.
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

// ask runs a script that may be left at any time. The answer's error is ctx's then.
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

// release gives the lock back under a timeout of its own: it matters most when the caller's context is over. If the
// answer is lost it asks once more.
func (l *Lock) release(ctx context.Context, c claim, e ending) (held bool, err error) {
	held, _, err = l.releaseTo(ctx, c, e)
	return held, err
}

// releaseTo is release for an ending that names the next one. It also returns what that one has obtained, nil for
// nothing.
func (l *Lock) releaseTo(ctx context.Context, c claim, e ending) (held bool, o *offer, err error) {
	ctx = limit(context.WithoutCancel(ctx), releaseTimeout)
	err = l.locker.retry(ctx, l.keys.all, func(again bool) error {
		e.again = e.again || again
		sent, within := time.Now(), releaseTimeout/2
		if again {
			within = releaseTimeout // nothing is asked after that
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

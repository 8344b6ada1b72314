package lock

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Time limits of calls to Redis, where the caller's context does not set a shorter one.
const (
	acquireTimeout = 3 * time.Second
	releaseTimeout = 3 * time.Second
)

// heldUnder is the key under which a hold's contexts name the lock.
type heldUnder struct {
	locker *Locker
	key    string
}

// newRequest returns a name that no other call has.
func newRequest() string { return uuid.NewString() }

// newClaim is one call of TryLock or Lock, whose name is the request.
func (l *Lock) newClaim(ctx context.Context, request string) (claim, error) {
	if err := ctx.Err(); err != nil {
		return claim{}, l.refused(err)
	}
	if err := l.settings.check(); err != nil {
		return claim{}, fmt.Errorf("lock %q: %w", l.name, err)
	}
	c := claim{owner: l.owner, request: request, lease: l.settings.lease, copies: l.settings.copies, latched: l.locker.repeats}
	if l.traits.owned {
		return c, nil
	}
	c.owner = Owner(c.request)
	// A context of a hold ends with it, so a wait under it cannot end well.
	if h, ok := ctx.Value(heldUnder{l.locker, l.key}).(*Hold); ok && h.Err() == nil {
		return claim{}, l.refused(ErrReentry)
	}
	return c, nil
}

// attempt asks for the lock once, and once more if the answer was lost. With ErrNotObtained it says when to ask again
// at the latest.
func (l *Lock) attempt(ctx context.Context, c *claim) (h *Hold, wait time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, l.refused(err)
	}
	sent := time.Now()
	a, err := l.acquire(ctx, *c)
	if uncertain(err) && ctx.Err() == nil {
		c.latched = true // the first may arrive yet
		sent = time.Now()
		a, err = l.acquire(ctx, *c)
	}
	switch {
	case err != nil:
		if uncertain(err) {
			l.giveUp(ctx, *c)
		}
		if ended := ctx.Err(); ended != nil { // a socket's timeout says less
			err = fmt.Errorf("%w: %w: %w", ErrNotObtained, ended, err)
		}
		return nil, 0, fmt.Errorf("lock %q: %w", l.name, err)
	case a.upgrade:
		return nil, 0, l.refused(ErrUpgrade)
	case !a.obtained:
		return nil, untilNextTry(a.wait), fmt.Errorf("lock %q: %w", l.name, ErrNotObtained)
	case time.Since(sent) >= l.settings.validity():
		l.giveUp(ctx, *c)
		return nil, 0, fmt.Errorf("lock %q: %w: the answer took longer than the lease", l.name, ErrLost)
	case a.copies < l.settings.copies:
		l.giveUp(ctx, *c)
		return nil, 0, fmt.Errorf("lock %q: %w: %d of %d", l.name, ErrTooFewCopies, a.copies, l.settings.copies)
	}
	return newHold(l, *c, a.token, sent), 0, nil
}

// refused is the error of a call that ends without the lock for a reason besides that others have it.
func (l *Lock) refused(why error) error {
	return fmt.Errorf("lock %q: %w: %w", l.name, ErrNotObtained, why)
}

// answer is what an acquire was told.
type answer struct {
	obtained bool
	token    int64         // if obtained
	copies   int           // if obtained, and there are to be some: how many replicas have it
	upgrade  bool          // if not: its owner is in its way himself
	wait     time.Duration // if not: when the lease of the present holder ends, unless he renews it
}

// run runs an acquire, and has it copied if the settings say so.
func (l *Lock) run(ctx context.Context, acquire call) (cmd *redis.Cmd, copies int, err error) {
	if l.settings.copies <= 0 {
		return acquire.run(ctx, l.locker.client), 0, nil
	}
	within := min(copyTime, l.settings.lease/2)
	return acquire.runCopied(ctx, l.locker.client, l.settings.copies, within)
}

func (l *Lock) acquire(ctx context.Context, c claim) (answer, error) {
	ctx = limit(ctx, acquireTimeout)
	cmd, copies, err := l.run(ctx, l.protocol.acquire(c, l.locker.highest.Load()))
	if err != nil {
		return answer{}, err
	}
	if token, ok := cmd.Val().(string); ok && cmd.Err() == nil {
		n, err := strconv.ParseInt(token, 10, 64)
		if err != nil {
			return answer{}, fmt.Errorf("acquire script answered %w", err)
		}
		l.locker.sawToken(n)
		return answer{obtained: true, token: n, copies: copies}, nil
	}
	got, err := cmd.Int64Slice()
	if err != nil {
		return answer{}, err
	}
	if len(got) != 2 {
		return answer{}, fmt.Errorf("acquire script answered %v", got)
	}
	return answer{upgrade: got[0] == -2, wait: time.Duration(got[1]) * time.Millisecond}, nil
}

// release gives the lock back under a timeout of its own: it matters most when the caller's context is over. If the
// answer is lost it asks once more.
func (l *Lock) release(ctx context.Context, c claim, e ending) (held bool, err error) {
	ctx = limit(context.WithoutCancel(ctx), releaseTimeout)
	n, err := l.protocol.release(c, e).run(ctx, l.locker.client).Int()
	if uncertain(err) && inTime(ctx) {
		e.again = true
		n, err = l.protocol.release(c, e).run(ctx, l.locker.client).Int()
	}
	return n == 1, err
}

// giveUp releases what an acquire without an answer may have taken or may still take. If that fails too, the lease
// ends it.
func (l *Lock) giveUp(ctx context.Context, c claim) {
	_, _ = l.release(ctx, c, ending{})
}

package lock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"seckill/internal/batch"
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
	c := claim{
		owner: l.owner, request: request, lease: l.settings.lease, asks: l.settings.replicas > 0 || l.elected,
		latched: l.locker.repeats,
	}
	if l.traits.owned {
		if l.owner == "" {
			return claim{}, fmt.Errorf("lock %q: %w", l.name, ErrNoOwner)
		}
		return c, nil
	}
	c.owner = Owner(c.request)
	// A context of a hold ends with it, so a wait under it cannot end well.
	if h, ok := ctx.Value(heldUnder{l.locker, l.key}).(*Hold); ok && h.Err() == nil {
		return claim{}, l.refused(ErrReentry)
	}
	return c, nil
}

// attempted is what came of one attempt.
type attempted struct {
	hold   *Hold
	err    error
	unsure bool          // of the claim, from now on
	wait   time.Duration // with ErrNotObtained: when to ask again at the latest
	lapsed bool          // with ErrNotObtained: this process had lost its places in the queue
}

// attempt asks for the lock once, and once more if the answer was lost. It returns soon after ctx is over: the first
// time it waits only for as long as a call may last after that, which costs less than to be ready to leave, and is
// enough for almost every answer.
func (l *Lock) attempt(ctx context.Context, c *claim) attempted {
	tries := 2
	if l.settings.replicas == 0 && l.locker.prompt(ctx) { // replicas take their time
		a := l.askFor(ctx, *c, 1, promptTime)
		c.unsure, c.latched = a.unsure, c.latched || a.unsure // it may arrive yet
		sent := !errors.Is(a.err, batch.ErrNotSent)
		if !a.unsure && sent || ownFailure(a.err) && over(ctx) == nil {
			return a
		}
		l.locker.silent()
		if err := over(ctx); err != nil {
			return attempted{err: l.refused(err)}
		}
		tries = 1
	}
	asked := *c // the call may go on after this one has returned, and c has changed
	a, err := leavable(ctx, l.locker, func() attempted {
		return l.askFor(ctx, asked, tries, acquireTimeout)
	}, func(late attempted) {
		if late.err == nil {
			_ = late.hold.Release(ctx) // if that fails the lease ends it
		}
	})
	if err != nil {
		c.unsure, c.latched = true, true // it may arrive yet
		return attempted{err: l.refused(err)}
	}
	c.unsure, c.latched = c.unsure || a.unsure, c.latched || a.unsure
	return a
}

// abandon is giveUp for a wait or an attempt whose context may be over.
func (l *Lock) abandon(ctx context.Context, c claim) {
	_, _ = leavable(ctx, l.locker, func() struct{} { l.giveUp(ctx, c); return struct{}{} }, func(struct{}) {})
}

// askFor asks so many times, and waits for each answer for so long.
func (l *Lock) askFor(ctx context.Context, c claim, tries int, within time.Duration) attempted {
	if err := ctx.Err(); err != nil {
		return attempted{err: l.refused(err)}
	}
	sent := time.Now()
	a, err := l.acquire(ctx, c, within)
	if tries > 1 && ctx.Err() == nil && l.locker.again(err) {
		c.unsure = c.unsure || uncertain(err) // the first may arrive yet
		c.latched = c.latched || c.unsure
		sent = time.Now()
		a, err = l.acquire(ctx, c, within)
	}
	failed := func(err error) attempted {
		return attempted{err: fmt.Errorf("lock %q: %w", l.name, err), unsure: c.unsure}
	}
	switch {
	case err != nil:
		c.unsure = c.unsure || uncertain(err)
		if ended := over(ctx); ended != nil { // a socket's timeout says less
			err = fmt.Errorf("%w: %w: %w", ErrNotObtained, ended, err)
		}
		return failed(err)
	case a.upgrade:
		return failed(fmt.Errorf("%w: %w", ErrNotObtained, ErrUpgrade))
	case !a.obtained:
		refused := failed(ErrNotObtained)
		refused.wait, refused.lapsed = a.wait, a.lapsed
		return refused
	}
	if err := l.unsound(a, sent); err != nil {
		c.unsure = true // it has the lock
		return failed(err)
	}
	h := newHold(l, c, a.token, sent)
	h.server = a.server.id
	return attempted{hold: h}
}

// unsound returns why a lock that was obtained cannot be kept, if it cannot.
func (l *Lock) unsound(a answer, sent time.Time) error {
	switch {
	case time.Since(sent) >= l.settings.validity():
		return fmt.Errorf("%w: the answer took longer than the lease", ErrLost)
	case a.replicas < l.settings.replicas:
		return fmt.Errorf("%w: %d of %d", ErrTooFewReplicas, a.replicas, l.settings.replicas)
	case a.server.id != "" && a.server.uptime < l.settings.lease+time.Second && !l.settings.restarted:
		return fmt.Errorf("%w: %v", ErrRestarted, a.server.uptime)
	default:
		return nil
	}
}

// refused is the error of a call that ends without the lock for a reason besides that others have it.
func (l *Lock) refused(why error) error {
	return fmt.Errorf("lock %q: %w: %w", l.name, ErrNotObtained, why)
}

// answer is what an acquire was told.
type answer struct {
	obtained bool
	token    int64         // if obtained
	replicas int           // if obtained, and there are to be some: how many have it
	server   server        // if obtained, and it is one of a Redlock
	upgrade  bool          // if not: its owner is in its own way
	wait     time.Duration // if not: when the lease of the present holder ends, unless they renew it
	lapsed   bool          // if not: as in attempted
}

func (l *Lock) acquire(ctx context.Context, c claim, within time.Duration) (answer, error) {
	ctx = limit(ctx, within)
	acquire := l.protocol.acquire(c, l.locker.highest.Load())
	var a answer
	var cmd *redis.Cmd
	var err error
	if c.asks {
		cmd, a.replicas, a.server, err = l.runObserved(ctx, acquire)
	} else {
		cmd = l.locker.run(ctx, acquire)
	}
	if err != nil {
		return answer{}, err
	}
	if token, ok := cmd.Val().(string); ok && cmd.Err() == nil {
		a.token, err = strconv.ParseInt(token, 10, 64)
		if err != nil {
			return answer{}, fmt.Errorf("acquire script answered %w", err)
		}
		l.locker.sawToken(a.token)
		a.obtained = true
		return a, nil
	}
	got, err := cmd.Int64Slice()
	if err != nil {
		return answer{}, err
	}
	if len(got) < 2 {
		return answer{}, fmt.Errorf("acquire script answered %v", got)
	}
	a.upgrade, a.wait, a.lapsed = got[0] == -2, time.Duration(got[1])*time.Millisecond, len(got) > 2 && got[2] == 1
	return a, nil
}

// ask runs a script that may be left at any time. The answer's error is ctx's then.
func (l *Lock) ask(ctx context.Context, c call) *redis.Cmd {
	answer, err := leavable(ctx, l.locker, func() *redis.Cmd {
		return c.run(limit(ctx, acquireTimeout), l.locker.client)
	}, func(*redis.Cmd) {})
	if err != nil {
		answer = redis.NewCmd(ctx)
		answer.SetErr(err)
	}
	return answer
}

// release gives the lock back under a timeout of its own: it matters most when the caller's context is over. If the
// answer is lost it asks once more.
func (l *Lock) release(ctx context.Context, c claim, e ending) (held bool, err error) {
	ctx = limit(context.WithoutCancel(ctx), releaseTimeout)
	n, err := l.locker.run(ctx, l.protocol.release(c, e)).Int()
	if l.locker.again(err) && inTime(ctx) {
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

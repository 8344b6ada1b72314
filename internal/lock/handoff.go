package lock

import (
	"context"
	"fmt"
	"time"
)

// handOffLimit is how many times in a row a lock goes from one waiter of a process to the next without being free for
// those of other processes.
const handOffLimit = 16

// What a mutex's release publishes, if not a message to those who are known to listen.
const (
	othersTurn = "turn" // the process has handed the lock on among its own as often as it may
	handedOn   = "-"    // nothing: the next one acquires it in the same request
)

// offer is what became of a request, sent at the given time, that was to obtain the lock for a waiter.
type offer struct {
	answer

	sent    time.Time
	latched bool // as in claim: the request may have been sent twice, or arrive yet
}

// finish gives the lock back: to the next waiter of this process, else to all. It reports whether the claim held it.
func (l *Lock) finish(ctx context.Context, c claim, e ending) (held bool, err error) {
	if l.kind.owned {
		return l.release(ctx, c, e)
	}
	t, next := l.locker.pubsub.successor(l.key)
	if next == nil {
		if l.locker.pubsub.waiting(l.key) {
			e.publish = othersTurn
		}
		return l.release(ctx, c, e)
	}
	e.publish = handedOn
	to := next.claim
	to.handed = true
	var o offer
	var asked error
	err = l.locker.retry(limit(context.WithoutCancel(ctx), releaseTimeout), 2, func(ctx context.Context, again bool) error {
		e.again, to.latched = e.again || again, to.latched || again
		ctx = firstTry(ctx, again)
		o = offer{sent: time.Now(), latched: to.latched}
		answers := runAll(ctx, l.locker.client, []call{l.callRelease(c, e), l.callAcquire(to, l.locker.highest.Load())})
		n, err := answers[0].Int()
		if err != nil {
			return err
		}
		held = n == 1
		o.answer, asked = read(answers[1])
		if uncertain(asked) {
			return asked
		}
		return nil
	})
	if o.obtained {
		l.locker.sawToken(o.token)
	} else {
		o.latched = true // it may arrive yet
		signal(t.events) // also for one who comes after them
	}
	next.offers <- o
	return held, err
}

// accept makes a hold of a lock that was handed to the claim, unless its lease may be over.
func (l *Lock) accept(c claim, o offer) (*Hold, error) {
	if time.Since(o.sent) >= l.settings.validity() {
		return nil, fmt.Errorf("lock %q: %w: it was handed over later than its lease", l.name, ErrLost)
	}
	return newHold(l, c, o.token, o.sent), nil
}

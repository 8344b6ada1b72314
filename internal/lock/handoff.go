package lock

import (
	"context"
	"fmt"
	"time"
)

// handOffLimit is how many times in a row a lock goes from one waiter of a process to the next without being free for
// those of other processes.
const handOffLimit = 16

// handOffer is a protocol that can give a lock from a claim to the next one of the same process in one step: {1, token};
// {2, 0} when it is released and the next one does not have it; {0, 0} when the claim did not hold.
type handOffer interface {
	handOff(from claim, e ending, to claim, floor int64) call
}

// offer is a lock that was handed to a waiter by a request sent at the given time.
type offer struct {
	token int64
	sent  time.Time
}

// finish gives the lock back: to the next waiter of this process, else to all. It reports whether the claim held it.
func (l *Lock) finish(ctx context.Context, c claim, e ending) (held bool, err error) {
	p, ok := l.protocol.(handOffer)
	if !ok {
		return l.release(ctx, c, e)
	}
	q, next := l.locker.pubsub.successor(l.key)
	if next == nil {
		e.turn = l.locker.pubsub.waiting(l.key)
		return l.release(ctx, c, e)
	}
	ctx = limit(context.WithoutCancel(ctx), releaseTimeout)
	sent := time.Now()
	got, err := l.runHandOff(ctx, p.handOff(c, e, next.claim, l.locker.highest.Load()))
	if l.locker.again(err) && inTime(ctx) {
		e.again = true
		sent = time.Now()
		got, err = l.runHandOff(ctx, p.handOff(c, e, next.claim, l.locker.highest.Load()))
	}
	if err != nil || got[0] != 1 {
		q.notify() // they may have it all the same, or it is free: they have to ask
		return err == nil && got[0] == 2, err
	}
	l.locker.sawToken(got[1])
	next.offers <- offer{got[1], sent}
	return true, nil
}

func (l *Lock) runHandOff(ctx context.Context, pass call) ([]int64, error) {
	got, err := l.locker.run(ctx, pass).Int64Slice()
	if err == nil && len(got) != 2 {
		err = fmt.Errorf("hand-off script answered %v", got)
	}
	return got, err
}

// accept makes a hold of a lock that was handed to the claim, unless its lease may be over.
func (l *Lock) accept(c claim, o offer) (*Hold, error) {
	if time.Since(o.sent) >= l.settings.validity() {
		return nil, fmt.Errorf("lock %q: %w: it was handed over later than its lease", l.name, ErrLost)
	}
	return newHold(l, c, o.token, o.sent), nil
}

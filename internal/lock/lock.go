package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// Lock is one lock: a name, a kind, and how it is to be held. The Locker's methods make them, one for each kind, and
// say what the kind promises; Multi and Redlock make one of several. What is below is the same for all. A Lock is
// only a description: it may be used any number of times, from any goroutine, and needs no end.
//
// Every call returns soon after its context is over, also when Redis is silent: within 100 ms. What it had asked for by
// then is given back in the background.
type Lock struct {
	locker   *Locker // of one that is made of others, that of the first
	kind     *kind
	name     string
	key      string // of the lock in Redis, the same for both sides of one; releases are published there
	keys     keys
	settings settings
	owner    Owner  // of all calls; "" where each has its own
	elected  bool   // it is one of a Redlock, which has to know the server
	group    *group // of a lock that is made of others, which has a name and nothing else
}

// Owner is who holds a lock: a random UUID, never a goroutine, a process or a host. A mutex makes one for every call.
// Those who are to enter a reentrant lock again pass the same one along. The zero Owner is nobody.
type Owner string

// NewOwner returns an owner that nobody else has.
func NewOwner() Owner { return Owner(uuid.NewString()) }

// check returns why the owner cannot have a lock, if it cannot: messages between processes have owners in lines.
func (o Owner) check() error {
	switch {
	case o == "":
		return ErrNoOwner
	case strings.ContainsFunc(string(o), unicode.IsControl):
		return fmt.Errorf("%w: %q has control characters", ErrInvalidOwner, o)
	default:
		return nil
	}
}

func (l *Locker) newLock(of *kind, k keys, owner Owner, opts []Option) *Lock {
	return &Lock{locker: l, kind: of, name: k.name, key: k.lock, keys: k, settings: newSettings(opts), owner: owner}
}

// TryLock takes the lock if it is free, and returns ErrNotObtained at once if it is not. Other errors are ctx's,
// Redis's, ErrNoAnswer, or those of a lock that is described wrongly. Then the lock was not taken,
// or is free again after the lease at the latest.
func (l *Lock) TryLock(ctx context.Context) (*Hold, error) {
	return l.try(ctx, newRequest())
}

// try is TryLock for a request that has a name.
func (l *Lock) try(ctx context.Context, request string) (*Hold, error) {
	if l.group != nil {
		return l.tryGroup(ctx, request)
	}
	c, err := l.newClaim(ctx, request)
	if err != nil {
		return nil, err
	}
	h, _, err := l.attempt(ctx, &c)
	if err != nil && c.unsure {
		l.abandon(ctx, c)
	}
	return h, err
}

// Lock waits for the lock until ctx ends; then it returns ErrNotObtained together with ctx's error. Other errors are as
// for TryLock: when Redis cannot be reached, Lock does not wait for that to end. Unless the kind says otherwise, the
// waiters of one Locker are served in the order in which they came, and those of different ones in no order.
func (l *Lock) Lock(ctx context.Context) (*Hold, error) {
	h, err := l.lockUntil(ctx)
	if ended := ctx.Err(); ended != nil && waits(err) && !errors.Is(err, ended) {
		return nil, l.refused(ended) // it was refused, and ctx was over before it could wait
	}
	return h, err
}

func (l *Lock) lockUntil(ctx context.Context) (*Hold, error) {
	if l.group != nil {
		return l.waitGroup(ctx)
	}
	c, err := l.newClaim(ctx, newRequest())
	if err != nil {
		return nil, err
	}
	c.listens = true
	return l.wait(ctx, c)
}

// Do waits for the lock and runs f under it, with a context that ends when ctx does or the lock is lost. It returns
// the errors of Lock, or those of f and of the release together; ErrNotHeld among them says that f ended only after the
// lock was lost.
func (l *Lock) Do(ctx context.Context, f func(ctx context.Context, h *Hold) error) error {
	h, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	return h.do(ctx, f)
}

// TryDo is Do without waiting: it returns ErrNotObtained when somebody else has the lock.
func (l *Lock) TryDo(ctx context.Context, f func(ctx context.Context, h *Hold) error) error {
	h, err := l.TryLock(ctx)
	if err != nil {
		return err
	}
	return h.do(ctx, f)
}

// ForceUnlock frees the lock, no matter who has it, wakes those who wait, and reports whether anybody had it. It is for
// operators: the holder goes on until they renew or look next, a third of their lease later at most; then their hold is
// lost. What must not be written by two at once has to check the token.
func (l *Lock) ForceUnlock(ctx context.Context) (wasHeld bool, err error) {
	if l.group != nil {
		return l.forceGroup(ctx)
	}
	n, err := l.ask(ctx, l.callForce()).Int()
	if err != nil {
		return false, l.wrap("force", err)
	}
	return n == 1, nil
}

// wrap says which lock an error is about.
func (l *Lock) wrap(doing string, err error) error {
	return fmt.Errorf("lock %q: %s: %w", l.name, doing, err)
}

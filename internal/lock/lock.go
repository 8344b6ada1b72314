package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"seckill/internal/lock/internal/member"
)

// Lock describes one lock: its name, its kind, and how it is held. The Locker's methods make Locks, one method for each
// kind, and say what the kind promises; the methods below are the same for all kinds. A Lock may be used any number of
// times, from any goroutine, and needs no closing.
//
// Every call returns within 100 ms after its context ends, even if Redis is silent. Whatever it had asked for is then
// given back in the background.
type Lock struct {
	locker   *Locker
	kind     *kind
	name     string
	key      string // in Redis, shared by both sides of a read-write lock; also the channel of releases
	keys     keys
	settings settings
	owner    Owner // of all calls; "" if each call has its own
}

// Owner identifies the holder of a lock: a random UUID, not a goroutine, process or host. A mutex makes one for every
// call; calls that are to enter a reentrant lock again pass the same one. The zero Owner is nobody.
type Owner string

// NewOwner returns a new, unique owner.
func NewOwner() Owner { return Owner(uuid.NewString()) }

// check returns an error if the owner cannot hold a lock. Control characters are refused because messages between
// processes list owners in lines.
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

// TryLock takes the lock if it is free, and otherwise returns ErrNotObtained at once. Other errors are ctx's, Redis's,
// ErrNoAnswer, or those of invalid options or owners. After any of them the lock is not taken, or is free again after
// the lease at the latest.
func (l *Lock) TryLock(ctx context.Context) (*Hold, error) {
	c, err := l.newClaim(ctx)
	if err != nil {
		return nil, err
	}
	h, _, err := l.attempt(ctx, &c)
	if err != nil && c.unsure {
		l.abandon(ctx, c)
	}
	return h, err
}

// Lock waits for the lock until ctx ends. Then it returns ctx's error together with ErrNotObtained, or with ErrNoAnswer
// if Redis never refused it or has been silent since. Other errors are those of TryLock: if Redis cannot be reached,
// Lock does not wait for it to come back. It does ask again when Redis answered later than the lease. Unless the kind
// says otherwise, waiters of one Locker are served in the order in which they came, and those of different Lockers in
// no order.
func (l *Lock) Lock(ctx context.Context) (*Hold, error) {
	h, err := l.lockUntil(ctx)
	switch ended := ctx.Err(); {
	case ended == nil || errors.Is(err, ended):
	case waits(err):
		return nil, l.refused(ended) // refused, and ctx ended before it could wait
	case errors.Is(err, errTooLate):
		return nil, fmt.Errorf("%w: %w", err, ended)
	}
	return h, err
}

func (l *Lock) lockUntil(ctx context.Context) (*Hold, error) {
	c, err := l.newClaim(ctx)
	if err != nil {
		return nil, err
	}
	c.listens = true
	return l.wait(ctx, c)
}

// Do waits for the lock and runs f under it, with a context that ends when ctx ends or the lock is lost. It returns
// Lock's error, or those of f and of the release together. If they include ErrNotHeld, the lock was lost before f
// ended. f may release the hold itself.
func (l *Lock) Do(ctx context.Context, f func(ctx context.Context, h *Hold) error) error {
	return member.Do(ctx, l.Lock, (*Hold).settle, f)
}

// TryDo is Do without waiting: it returns ErrNotObtained when somebody else has the lock.
func (l *Lock) TryDo(ctx context.Context, f func(ctx context.Context, h *Hold) error) error {
	return member.Do(ctx, l.TryLock, (*Hold).settle, f)
}

// ForceUnlock frees the lock, no matter who has it, wakes its waiters, and reports whether anybody had it. It is for
// operators: the holder goes on until its next renewal or check, at most a third of its lease later; only then is its
// hold lost. A resource that two must not write at once has to check the token.
func (l *Lock) ForceUnlock(ctx context.Context) (wasHeld bool, err error) {
	n, err := l.ask(ctx, l.callForce()).Int()
	if err != nil {
		return false, l.wrap("force", err)
	}
	return n == 1, nil
}

// waits reports whether a caller that got err should wait, because others have the lock.
func waits(err error) bool {
	return errors.Is(err, ErrNotObtained) && !errors.Is(err, ErrReentry) && !errors.Is(err, ErrUpgrade)
}

// Name returns the lock's name.
func (l *Lock) Name() string { return l.name }

// wrap adds the lock's name and what was being done to an error.
func (l *Lock) wrap(doing string, err error) error {
	return fmt.Errorf("lock %q: %s: %w", l.name, doing, err)
}

package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// Lock is one lock: a name, a kind, and how it is to be held. The Locker's methods make them, one for each kind, and
// say what the kind promises. What is below is the same for all. A Lock is only a description: it may be used any
// number of times, from any goroutine, and needs no end.
//
// Every call returns soon after its context is over, also when Redis is silent: within 100 ms. What it had asked for by
// then is given back in the background.
type Lock struct {
	locker   *Locker
	kind     *kind
	name     string
	key      string // of the lock in Redis, the same for both sides of one; releases are published there
	keys     keys
	settings settings
	owner    Owner // of all calls; "" where each has its own
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

// Lock waits for the lock until ctx ends; then it returns ErrNotObtained together with ctx's error, or ErrNoAnswer if
// Redis has not refused it, or has been silent since. Other errors are as for TryLock: when Redis cannot be reached,
// Lock does not wait for that to end. Unless the kind says otherwise, the waiters of one Locker are served in the order
// in which they came, and those of different ones in no order.
func (l *Lock) Lock(ctx context.Context) (*Hold, error) {
	h, err := l.lockUntil(ctx)
	if ended := ctx.Err(); ended != nil && waits(err) && !errors.Is(err, ended) {
		return nil, l.refused(ended) // it was refused, and ctx was over before it could wait
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
	n, err := l.ask(ctx, l.callForce()).Int()
	if err != nil {
		return false, l.wrap("force", err)
	}
	return n == 1, nil
}

// waits reports whether who got err waits: because others have the lock.
func waits(err error) bool {
	return errors.Is(err, ErrNotObtained) && !errors.Is(err, ErrReentry) && !errors.Is(err, ErrUpgrade)
}

// Name returns the lock's name.
func (l *Lock) Name() string { return l.name }

// Key returns the lock's key in Redis. It has the hash tag of all keys of the lock, and is the same for both sides of a
// read-write lock.
func (l *Lock) Key() string { return l.key }

// Client returns the client of the lock's Redis.
func (l *Lock) Client() Client { return l.locker.client }

// Lease returns how long the lock is taken after its holder dies.
func (l *Lock) Lease() time.Duration { return l.settings.lease }

// Matches reports whether both are the same lock, on different servers: for the same owner and held in the same way.
func (l *Lock) Matches(other *Lock) bool {
	return l.name == other.name && l.kind.name == other.kind.name &&
		l.settings == other.settings && l.owner == other.owner
}

// As returns a Mutex whose next call, and no other one, is made by the owner, who must be new: so that several are
// held in one name. Locks of other kinds, which have an owner, it returns as they are.
func (l *Lock) As(o Owner) *Lock {
	if l.kind.owned {
		return l
	}
	as := *l
	as.owner = o
	return &as
}

// wrap says which lock an error is about.
func (l *Lock) wrap(doing string, err error) error {
	return fmt.Errorf("lock %q: %s: %w", l.name, doing, err)
}

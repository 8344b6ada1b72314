// Package member is the door through which package group sees more of a lock than its users do, and the steps that
// plain and combined locks share.
package member

import (
	"context"
	"errors"
	"time"
)

// Pass opens the door: lock.Lock.Member asks for one. No package outside of internal/lock can name it.
type Pass struct{ _ byte }

// Lock is a lock as a member of a combined one. L, H and C are package lock's Lock, Hold and Client.
type Lock[L, H, C any] interface { //nolint:interfacebloat // one door for one package
	// As returns a Mutex for one call in the name of a new owner, a UUID, so that one owner can hold several mutexes.
	// Locks of other kinds have an owner already and are returned unchanged.
	As(owner string) L
	// Matches reports whether both have the same name, kind, owner and options, so that they can be one lock on
	// different servers.
	Matches(other L) bool
	// Place returns the client of the lock's Redis, and the lock's key there. The key has the hash tag of all the
	// lock's keys, and is the same for both sides of a read-write lock.
	Place() (client C, key string)
	// Server returns a client of the one server that has the lock.
	Server(ctx context.Context) (C, error)
	// Lease returns how long the lock stays taken after its holder dies.
	Lease() time.Duration

	// Mark returns a copy of parent that carries the hold, so that a call that would wait for its own hold is refused.
	Mark(parent context.Context, h H) context.Context
	// GiveUp ends the hold in this process as lost. It is no longer renewed; Release, or the end of its lease, ends it
	// in Redis.
	GiveUp(h H, err error)
	// RaiseToken raises the hold's token, for a holder that has the lock on several servers and needs one token for
	// all. If the outcome is unknown, the hold is given up. Do not call Token meanwhile.
	RaiseToken(ctx context.Context, h H, token int64) error
}

// ErrLate is wrapped by the error of a try whose answer came so late that the lease may be over.
var ErrLate = errors.New("the lock was granted, but the answer took longer than the lease")

// Held is what Do needs of a hold.
type Held interface {
	Context(parent context.Context) (context.Context, context.CancelFunc)
}

// Do takes a lock, runs f under its hold, with the hold's context, and then frees it, also when f panics.
func Do[H Held](
	ctx context.Context, take func(context.Context) (H, error), free func(H, context.Context) error,
	f func(context.Context, H) error,
) (err error) {
	h, err := take(ctx)
	if err != nil {
		return err
	}
	held, cancel := h.Context(ctx)
	defer cancel()
	defer func() { err = errors.Join(err, free(h, ctx)) }()
	return f(held, h)
}

// leaveTime is how long a call goes on at most after its context has ended. If Redis answers, this is long enough to
// clean up; otherwise the call finishes in the background.
const leaveTime = 20 * time.Millisecond

// Await waits until a call is done, or leaveTime after ctx ends, and reports whether it is done.
func Await(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	patience := time.NewTimer(leaveTime)
	defer patience.Stop()
	select {
	case <-done:
		return true
	case <-patience.C:
		return false
	}
}

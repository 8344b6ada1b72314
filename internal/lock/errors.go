package lock

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/batch"
)

// What taking, keeping and releasing a lock can end with, besides the errors of Redis and of contexts. They come
// wrapped: use errors.Is.
var (
	// ErrNotObtained: somebody else has the lock, as Redis said when it was last heard. From Lock it comes together
	// with the context's error.
	ErrNotObtained = errors.New("lock not obtained")
	// ErrNoAnswer: Redis has not answered in time, and nobody knows who has the lock. It comes together with the
	// context's error, if that is over.
	ErrNoAnswer = errors.New("no answer from Redis in time")
	// ErrReentry: the caller has the lock already, and its kind lets nobody enter again. It comes with ErrNotObtained.
	ErrReentry = errors.New("lock held by the caller already")
	// ErrUpgrade: the caller reads, and wants to write: they would wait for themselves. It comes with ErrNotObtained.
	ErrUpgrade = errors.New("lock held for reading by the caller")
	// ErrNotHeld: the lock is not, or no longer, this hold's. Nothing was changed.
	ErrNotHeld = errors.New("lock not held")
	// ErrLost: the lock ended before it was released: its lease ran out, or its key was removed or taken. It is the
	// cause of the end of a hold's contexts.
	ErrLost = errors.New("lock lost")
	// ErrInvalidLease: the lease is shorter than MinLease.
	ErrInvalidLease = errors.New("lock lease too short")
	// ErrInvalidOption: an option has a negative value.
	ErrInvalidOption = errors.New("invalid option of a lock")
	// ErrNoOwner: the owner is the zero one, which everybody has.
	ErrNoOwner = errors.New("lock without an owner")
	// ErrInvalidOwner: the owner has control characters.
	ErrInvalidOwner = errors.New("invalid owner of a lock")
)

// uncertain reports whether a script that failed with err may have run all the same.
func uncertain(err error) bool {
	if err == nil {
		return false
	}
	if _, refused := errors.AsType[redis.Error](err); refused || errors.Is(err, batch.ErrNotSent) {
		return false
	}
	op, network := errors.AsType[*net.OpError](err)
	return !network || op.Op != "dial" // without a connection nothing was sent
}

// timedOut reports whether err says that a time limit was over, whichever: a socket's, this package's or a caller's.
func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// unanswered returns err for a caller: if a time limit is over it says so, and that it was the caller's only if their
// context has ended.
func unanswered(ended, err error) error {
	switch {
	case err == nil || ended == nil && !timedOut(err):
		return err
	case ended != nil && errors.Is(err, batch.ErrNotSent):
		return fmt.Errorf("%w: %w: %w", batch.ErrNotSent, ErrNoAnswer, ended)
	case ended != nil:
		return fmt.Errorf("%w: %w: %s", ErrNoAnswer, ended, err.Error())
	case errors.Is(err, batch.ErrNotSent):
		return fmt.Errorf("%w: %w", batch.ErrNotSent, ErrNoAnswer)
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return ErrNoAnswer // that context is not the caller's
	default:
		return fmt.Errorf("%w: %s", ErrNoAnswer, err.Error())
	}
}

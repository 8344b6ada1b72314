package lock

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/batch"
	"seckill/internal/lock/internal/member"
)

// Errors of taking, keeping and releasing a lock, besides those of Redis and of contexts. They come wrapped: use
// errors.Is.
var (
	// ErrNotObtained: somebody else has the lock, according to Redis's last answer. Lock returns it together with the
	// context's error.
	ErrNotObtained = errors.New("lock not obtained")
	// ErrNoAnswer: Redis did not answer in time, or only once the lease was over, so it is unknown who has the lock. If
	// the caller's context has ended, its error comes along.
	ErrNoAnswer = errors.New("no answer from Redis in time")
	// ErrReentry: the caller already holds the lock, which is not reentrant. It comes with ErrNotObtained.
	ErrReentry = errors.New("lock held by the caller already")
	// ErrUpgrade: the caller holds the lock for reading and wants to write, so it would wait for itself. It comes with
	// ErrNotObtained.
	ErrUpgrade = errors.New("lock held for reading by the caller")
	// ErrNotHeld: this hold does not, or no longer, have the lock. Nothing was changed.
	ErrNotHeld = errors.New("lock not held")
	// ErrLost: the lock ended before it was released: its lease ran out, or its key was removed or taken. It is the
	// cause of the end of a hold's contexts.
	ErrLost = errors.New("lock lost")
	// ErrInvalidLease: the lease is shorter than MinLease.
	ErrInvalidLease = errors.New("lock lease too short")
	// ErrInvalidClient: New cannot serve the client.
	ErrInvalidClient = errors.New("client unfit for locks")
	// ErrInvalidOption: an option has a negative value or contradicts another one.
	ErrInvalidOption = errors.New("invalid option of a lock")
	// ErrNoOwner: the owner is the zero Owner, which would be shared by everybody.
	ErrNoOwner = errors.New("lock without an owner")
	// ErrInvalidOwner: the owner has control characters.
	ErrInvalidOwner = errors.New("invalid owner of a lock")
)

// errTooLate is the error of a try that Redis answered when the lease may have been over already.
var errTooLate = fmt.Errorf("%w: %w", ErrNoAnswer, member.ErrLate)

// uncertain reports whether Redis may have run a script although the call failed with err.
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

// timedOut reports whether err is a timeout of any kind: a socket's, the client's, this package's or the caller's.
func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, redis.ErrPoolTimeout)
}

// unanswered turns a timeout into ErrNoAnswer, and so a request that was not sent because the one before it had no
// answer. It keeps the context's error only if the caller's own context has ended.
func unanswered(ended, err error) error {
	switch notSent := errors.Is(err, batch.ErrNotSent); {
	case err == nil || ended == nil && !notSent && !timedOut(err):
		return err
	case ended != nil:
		return fmt.Errorf("%w: %w", ErrNoAnswer, ended)
	case notSent:
		return fmt.Errorf("%w: the request was not sent", ErrNoAnswer)
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return ErrNoAnswer // that context is not the caller's
	default:
		return fmt.Errorf("%w: %s", ErrNoAnswer, err.Error())
	}
}

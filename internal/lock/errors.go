package lock

import (
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// What taking, keeping and releasing a lock can end with, besides the errors of Redis and of contexts. They come
// wrapped: use errors.Is.
var (
	// ErrNotObtained: somebody else has the lock. From Lock it comes together with the context's error.
	ErrNotObtained = errors.New("lock not obtained")
	// ErrReentry: the caller has the lock already, and its kind lets nobody enter again. It comes with ErrNotObtained.
	ErrReentry = errors.New("lock held by the caller already")
	// ErrUpgrade: the caller reads, and wants to write: he would wait for himself. It comes with ErrNotObtained.
	ErrUpgrade = errors.New("lock held for reading by the caller")
	// ErrNotHeld: the lock is not, or no longer, this hold's. Nothing was changed.
	ErrNotHeld = errors.New("lock not held")
	// ErrLost: the lock ended before it was released: its lease ran out, or its key was removed or taken. It is the
	// cause of the end of a hold's contexts.
	ErrLost = errors.New("lock lost")
	// ErrTooFewCopies: fewer replicas had the lock in time than WithCopies asks for. It was released.
	ErrTooFewCopies = errors.New("lock on too few replicas")
	// ErrInvalidLease: the lease is shorter than MinLease.
	ErrInvalidLease = errors.New("lock lease too short")
)

// uncertain reports whether a script that failed with err may have run all the same.
func uncertain(err error) bool {
	if err == nil {
		return false
	}
	if _, refused := errors.AsType[redis.Error](err); refused {
		return false
	}
	op, network := errors.AsType[*net.OpError](err)
	return !network || op.Op != "dial" // without a connection nothing was sent
}

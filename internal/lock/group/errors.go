package group

import "errors"

// What a lock that is made of others can end with, besides the errors of package lock. They come wrapped: use
// errors.Is.
var (
	// ErrDuplicate: a lock has one of its members, or one server, more than once.
	ErrDuplicate = errors.New("lock made of the same one twice")
	// ErrMismatch: the members of a Redlock differ in name, kind, options or owner, so that they are not one lock.
	ErrMismatch = errors.New("members of the lock differ")
	// ErrTooFewReplicas: fewer replicas had the lock in time than OnReplicas asks for. It was released.
	ErrTooFewReplicas = errors.New("lock on too few replicas")
	// ErrRestarted: a server of a Redlock was started less than a lease ago, and may have forgotten who has the lock.
	ErrRestarted = errors.New("server of the lock restarted less than a lease ago")
)

package group

import "errors"

// Errors of combined locks, besides those of package lock. They come wrapped: use errors.Is.
var (
	// ErrDuplicate: one lock is a member twice, or two members are on one server.
	ErrDuplicate = errors.New("duplicate member of a combined lock")
	// ErrMismatch: the members of a Redlock differ in name, kind, options or owner, so that they are not one lock.
	ErrMismatch = errors.New("members of the lock differ")
	// ErrTooFewReplicas: fewer replicas than OnReplicas asks for confirmed the lock in time. The lock was released.
	ErrTooFewReplicas = errors.New("lock on too few replicas")
	// ErrRestarted: a server of a Redlock started less than a lease ago and may have forgotten a holder.
	ErrRestarted = errors.New("server of the lock restarted less than a lease ago")
)

package lock

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Left returns how many abandoned calls of a Locker are running, and their limit.
func Left(l *Locker) (n, most int) { return int(l.left.Load()), mostLeft }

// TooMany reports whether a call was refused because too many abandoned ones are running.
func TooMany(err error) bool { return errors.Is(err, errLeft) }

// Unsent returns how many calls of the locker wait to share the next request.
func Unsent(l *Locker) int { return l.prompt.Waiting() }

// KeyOf returns the lock's key in Redis.
func KeyOf(l *Lock) string { return l.key }

// Elsewhere returns the lock under other keys, as if it were another server's.
func Elsewhere(l *Lock, server string) *Lock {
	other := *l
	other.keys = newKeys(l.locker.prefix+server+":", l.keys.kind, l.name)
	other.key = other.keys.lock
	return &other
}

// IsRenewal reports whether a command renews holds.
func IsRenewal(cmd redis.Cmder) bool {
	args := cmd.Args()
	return len(args) > 1 && slices.Contains(renewals(), args[1])
}

var renewals = sync.OnceValue(func() []any {
	k := newKinds()
	return []any{k.mutex.renew.Hash(), k.reentrant.renew.Hash()}
})

// Dependents returns how many contexts of the hold have not been cancelled.
func Dependents(h *Hold) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.dependents)
}

// AnswersAreSlow makes the locker treat Redis as slow, as it does after a late answer.
func AnswersAreSlow(l *Locker) { l.slow.Store(time.Now().Add(slowTime).UnixNano()) }

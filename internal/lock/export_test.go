package lock

import (
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Left returns how many calls of a Locker go on though nobody waits for them, and how many there may be.
func Left(l *Locker) (n, most int) { return int(l.left.Load()), mostLeft }

// Unsent returns how many calls of the locker wait to be sent together.
func Unsent(l *Locker) int { return l.prompt.Waiting() }

// KeyOf returns the lock's key in Redis.
func KeyOf(l *Lock) string { return l.key }

// Elsewhere returns the lock as if it were another server's: under keys of its own.
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

// Dependents returns how many contexts end with the hold.
func Dependents(h *Hold) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.dependents)
}

// AnswersAreSlow makes the locker expect no answer at once, as after one that took its time.
func AnswersAreSlow(l *Locker) { l.slow.Store(time.Now().Add(slowTime).UnixNano()) }

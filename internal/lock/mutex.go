package lock

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock/lua"
)

var (
	mutexAcquire = redis.NewScript(lua.Join("mutex_take", "token", "mutex_acquire"))
	mutexRenew   = redis.NewScript(lua.Join("mutex_renew"))
	mutexRelease = redis.NewScript(lua.Join("mutex_free", "mutex_release"))
	mutexHandOff = redis.NewScript(lua.Join("token", "mutex_free", "mutex_handoff"))
	mutexForce   = redis.NewScript(lua.Join("mutex_free", "mutex_force"))
	mutexState   = redis.NewScript(lua.Join("mutex_state"))
	mutexRaise   = redis.NewScript(lua.Join("token", "mutex_raise"))
)

// Mutex returns the lock with the name that one holder has at a time, and that lets nobody in again: every call of Lock
// is a stranger to all others. A call under a context of a hold of the same lock would wait for itself; it is told
// ErrReentry.
//
// The name may be any bytes. Processes that use the same name and prefix on the same Redis exclude each other. Without
// an option the lock has a lease of DefaultLease, which is renewed.
func (l *Locker) Mutex(name string, opts ...Option) *Lock {
	k := newKeys(l.prefix, "mutex", name)
	return l.newLock(k, mutex{k, " " + l.label}, traits{}, "", opts)
}

// mutex is the protocol of Mutex. Its state is a string, not the sorted set of the other kinds: which takes
// Redis less time (docs/locks.md).
type mutex struct {
	keys  keys
	label string // of the process, after a space
}

func (m mutex) acquire(c claim, floor int64) call {
	return call{
		mutexAcquire,
		[]string{m.keys.lock, m.keys.latch(c.request), m.keys.slot},
		[]any{c.request, c.ms(), floor, c.listens, m.signature(c)},
	}
}

// signature says whose a hold is, and for how long: other processes see by it that a time to live is longer than the lease.
func (m mutex) signature(c claim) string { return m.label + " " + strconv.FormatInt(c.ms(), 10) }

func (m mutex) renew(c claim, lease time.Duration) call {
	return call{mutexRenew, []string{m.keys.lock}, []any{c.request, lease.Milliseconds()}}
}

func (m mutex) release(c claim, e ending) call {
	names := []string{m.keys.lock}
	token, publish := "", ""
	switch {
	case c.latched || e.token == 0:
		names = append(names, m.keys.latch(c.request))
	case e.again:
		token = strconv.FormatInt(e.token, 10)
	}
	if e.turn {
		publish = othersTurn
	}
	return call{mutexRelease, names, []any{c.request, latchTime.Milliseconds(), m.keys.lock, publish, token}}
}

func (m mutex) handOff(from claim, e ending, to claim, floor int64) call {
	memory := "first"
	switch {
	case from.latched:
		memory = "latched"
	case e.again:
		memory = "again"
	}
	return call{
		mutexHandOff,
		[]string{m.keys.lock, m.keys.latch(from.request), m.keys.slot, m.keys.latch(to.request)},
		[]any{
			from.request, latchTime.Milliseconds(), m.keys.lock, e.token, memory,
			to.request, to.ms(), floor, m.signature(to),
		},
	}
}

func (m mutex) force() call {
	return call{mutexForce, []string{m.keys.lock}, []any{m.keys.lock, latchTime.Milliseconds()}}
}

func (m mutex) state(int) call { return call{mutexState, []string{m.keys.lock}, nil} }

func (m mutex) raise(c claim, token int64) call {
	return call{mutexRaise, []string{m.keys.lock, m.keys.slot}, []any{c.request, strconv.FormatInt(token, 10)}}
}

func (m mutex) channel(claim) (channel, queue string) { return m.keys.lock, "" }

package lock

import (
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed token.lua
	tokenLua string
	//go:embed force.lua
	forceLua string
	//go:embed mutex_acquire.lua
	mutexAcquireLua string
	//go:embed mutex_renew.lua
	mutexRenewLua string
	//go:embed mutex_release.lua
	mutexReleaseLua string
	//go:embed mutex_pass.lua
	mutexPassLua string
	//go:embed mutex_state.lua
	mutexStateLua string
)

var (
	forceScript   = redis.NewScript(forceLua)
	mutexAcquire  = redis.NewScript(tokenLua + mutexAcquireLua)
	mutexRenew    = redis.NewScript(mutexRenewLua)
	mutexRelease  = redis.NewScript(tokenLua + mutexReleaseLua)
	mutexPass     = redis.NewScript(tokenLua + mutexPassLua)
	mutexReadings = redis.NewScript(mutexStateLua)
)

// Mutex returns the lock with the name that one holder has at a time, and that lets nobody in again: every call of Lock
// is a stranger to all others. A call under a context of a hold of the same lock would wait for itself; it is told
// ErrReentry.
//
// The name may be any bytes. Processes that use the same name and prefix on the same Redis exclude each other. Without
// an option the lock has a lease of DefaultLease, which is renewed.
func (l *Locker) Mutex(name string, opts ...Option) *Lock {
	k := newKeys(l.prefix, name, "")
	return l.newLock(name, k, mutex{k}, traits{}, "", opts)
}

// mutex is the protocol of Mutex.
type mutex struct{ keys keys }

func (m mutex) acquire(c claim, floor int64) call {
	return call{mutexAcquire, []string{m.keys.lock, m.keys.counter, m.keys.latch(c.request)}, []any{c.request, c.ms(), floor}}
}

func (m mutex) renew(c claim, lease time.Duration) call {
	return call{mutexRenew, []string{m.keys.lock}, []any{c.request, lease.Milliseconds()}}
}

func (m mutex) release(c claim) call {
	return call{
		mutexRelease,
		[]string{m.keys.lock, m.keys.counter, m.keys.latch(c.request)},
		[]any{c.request, latchTime.Milliseconds(), m.keys.channel},
	}
}

func (m mutex) pass(from, to claim, floor int64) call {
	return call{
		mutexPass,
		[]string{m.keys.lock, m.keys.counter, m.keys.latch(from.request), m.keys.latch(to.request)},
		[]any{from.request, to.request, to.ms(), floor, latchTime.Milliseconds(), m.keys.channel},
	}
}

func (m mutex) force() call { return call{forceScript, []string{m.keys.lock}, []any{m.keys.channel}} }

func (m mutex) state() call { return call{mutexReadings, []string{m.keys.lock}, nil} }

func (m mutex) channel(claim) string { return m.keys.channel }

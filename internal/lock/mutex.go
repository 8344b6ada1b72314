package lock

import (
	_ "embed"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed mutex_token.lua
	mutexTokenLua string
	//go:embed mutex_take.lua
	mutexTakeLua string
	//go:embed mutex_acquire.lua
	mutexAcquireLua string
	//go:embed mutex_renew.lua
	mutexRenewLua string
	//go:embed mutex_release.lua
	mutexReleaseLua string
	//go:embed mutex_again.lua
	mutexAgainLua string
	//go:embed mutex_leave.lua
	mutexLeaveLua string
	//go:embed mutex_pass.lua
	mutexPassLua string
	//go:embed mutex_force.lua
	mutexForceLua string
	//go:embed mutex_state.lua
	mutexStateLua string
)

var (
	mutexAcquire  = redis.NewScript(mutexTakeLua + mutexTokenLua + mutexAcquireLua)
	mutexRenew    = redis.NewScript(mutexRenewLua)
	mutexRelease  = redis.NewScript(mutexReleaseLua + mutexTokenLua + mutexAgainLua)
	mutexLeave    = redis.NewScript(mutexLeaveLua)
	mutexPass     = redis.NewScript(mutexTokenLua + mutexPassLua)
	mutexForce    = redis.NewScript(mutexTokenLua + mutexForceLua)
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
	return call{
		mutexAcquire,
		[]string{m.keys.lock, m.keys.latch(c.request), m.keys.counter},
		[]any{c.request, c.ms(), floor, c.listens},
	}
}

func (m mutex) renew(c claim, lease time.Duration) call {
	return call{mutexRenew, []string{m.keys.lock}, []any{c.request, lease.Milliseconds()}}
}

func (m mutex) release(c claim, e ending) call {
	if c.latched || e.token == 0 {
		return call{
			mutexLeave,
			[]string{m.keys.lock, m.keys.latch(c.request)},
			[]any{c.request, latchTime.Milliseconds(), m.keys.channel},
		}
	}
	token := strconv.FormatInt(e.token, 10)
	remember := latchTime
	if e.left >= latchTime {
		remember = 0
	}
	publish := ""
	if e.turn {
		publish = othersTurn
	}
	keys := []string{m.keys.lock}
	if e.again {
		keys = append(keys, m.keys.counter)
	}
	return call{
		mutexRelease,
		keys,
		[]any{c.request + " " + token, "-" + token, remember.Milliseconds(), m.keys.channel, publish},
	}
}

func (m mutex) pass(from claim, e ending, to claim, floor int64) call {
	memory := "first"
	switch {
	case from.latched:
		memory = "latched"
	case e.again:
		memory = "again"
	}
	return call{
		mutexPass,
		[]string{m.keys.lock, m.keys.latch(from.request), m.keys.counter, m.keys.latch(to.request)},
		[]any{
			from.request, latchTime.Milliseconds(), m.keys.channel, e.token, memory,
			to.request, to.ms(), floor,
		},
	}
}

func (m mutex) force() call {
	return call{
		mutexForce, []string{m.keys.lock, m.keys.counter}, []any{m.keys.channel, latchTime.Milliseconds()},
	}
}

func (m mutex) state() call { return call{mutexReadings, []string{m.keys.lock}, nil} }

func (m mutex) channel(claim) string { return m.keys.channel }

package lock

import (
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed clock.lua
	clockLua string
	//go:embed token.lua
	tokenLua string
	//go:embed force.lua
	forceLua string
	//go:embed holds.lua
	holdsLua string
	//go:embed reentrant.lua
	reentrantLua string
	//go:embed reentrant_acquire.lua
	reentrantAcquireLua string
	//go:embed reentrant_renew.lua
	reentrantRenewLua string
	//go:embed reentrant_release.lua
	reentrantReleaseLua string
	//go:embed reentrant_state.lua
	reentrantStateLua string
)

var (
	reentrantAcquire  = redis.NewScript(clockLua + tokenLua + holdsLua + reentrantLua + reentrantAcquireLua)
	reentrantRenew    = redis.NewScript(clockLua + holdsLua + reentrantRenewLua)
	reentrantRelease  = redis.NewScript(clockLua + tokenLua + holdsLua + reentrantLua + reentrantReleaseLua)
	reentrantForce    = redis.NewScript(forceLua)
	reentrantReadings = redis.NewScript(clockLua + reentrantStateLua)
)

// Reentrant returns the lock with the name, as the owner sees it: he may take it again while he has it, and it is free
// when each of his holds was released. Other owners stay out until then.
//
// Each hold has a lease of its own, is renewed or not as its options say, and can be lost alone: the lock is taken as
// long as one of them lives. All holds of one stay have the same token, that of the first.
//
// The owner is a value from NewOwner, to be passed along by those who are to enter again. Goroutines that share it do
// not exclude each other.
func (l *Locker) Reentrant(name string, owner Owner, opts ...Option) *Lock {
	k := newKeys(l.prefix, name, "reentrant")
	return l.newLock(name, k, reentrant{k}, traits{owned: true}, owner, opts)
}

// reentrant is the protocol of Reentrant.
type reentrant struct{ keys keys }

func (r reentrant) acquire(c claim, floor int64) call {
	return call{
		reentrantAcquire,
		[]string{r.keys.lock, r.keys.counter, r.keys.latch(c.request)},
		[]any{string(c.owner), c.ms(), floor, c.request},
	}
}

func (r reentrant) renew(c claim, lease time.Duration) call {
	return call{reentrantRenew, []string{r.keys.lock}, []any{string(c.owner), lease.Milliseconds(), c.request}}
}

func (r reentrant) release(c claim, _ ending) call {
	return call{
		reentrantRelease,
		[]string{r.keys.lock, r.keys.counter, r.keys.latch(c.request)},
		[]any{string(c.owner), latchTime.Milliseconds(), r.keys.channel, c.request},
	}
}

func (r reentrant) force() call {
	return call{reentrantForce, []string{r.keys.lock}, []any{r.keys.channel}}
}

func (r reentrant) state() call { return call{reentrantReadings, []string{r.keys.lock}, nil} }

func (r reentrant) channel(claim) string { return r.keys.channel }

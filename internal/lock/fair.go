package lock

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed queue.lua
	queueLua string
	//go:embed queue_stay.lua
	queueStayLua string
	//go:embed queue_force.lua
	queueForceLua string
	//go:embed fair.lua
	fairLua string
)

var (
	fairAcquire = redis.NewScript(clockLua + tokenLua + holdsLua + queueLua + fairLua + reentrantAcquireLua)
	fairRelease = redis.NewScript(clockLua + tokenLua + holdsLua + queueLua + fairLua + reentrantReleaseLua)
	fairStay    = redis.NewScript(clockLua + queueLua + fairLua + queueStayLua)
	fairForce   = redis.NewScript(clockLua + queueLua + fairLua + queueForceLua)
)

// Fair returns the lock with the name, as the owner sees it: a Reentrant that those who wait get in the order in which
// they came to Redis, from whichever process, by Redis's clock. TryLock returns ErrNotObtained while somebody waits,
// also when the lock is free; an owner who has it enters again past all who wait.
//
// A waiter who dies delays the others by five seconds at most, however many die with him, and one who leaves delays
// nobody. A process that is stopped for longer than four seconds loses its places, and lines up again.
func (l *Locker) Fair(name string, owner Owner, opts ...Option) *Lock {
	k := newKeys(l.prefix, name, "fair")
	return l.newLock(name, k, fair{reentrant{k}}, traits{owned: true}, owner, opts)
}

// fair is the protocol of Fair: holds are kept, renewed and shown as Reentrant's.
type fair struct{ reentrant }

// names are the keys of all its scripts; queue.lua says what they are.
func (f fair) names(c claim) []string {
	return []string{f.keys.lock, f.keys.counter, f.keys.latch(c.request), f.keys.queue(), f.keys.places()}
}

func (f fair) acquire(c claim, floor int64) call {
	return call{fairAcquire, f.names(c), []any{string(c.owner), c.ms(), floor, c.request, c.placeMS()}}
}

func (f fair) release(c claim, _ ending) call {
	return call{
		fairRelease, f.names(c), []any{string(c.owner), latchTime.Milliseconds(), f.keys.waiter(""), c.request},
	}
}

func (f fair) stay(c claim) call {
	return call{fairStay, f.names(c), []any{c.request, c.placeMS(), f.keys.waiter("")}}
}

func (f fair) force() call { return call{fairForce, f.names(claim{}), []any{f.keys.waiter("")}} }

func (f fair) channel(c claim) string { return f.keys.waiter(c.request) }

package lock

import (
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock/lua"
)

var (
	fairAcquire = redis.NewScript(lua.Join("clock", "token", "holds", "queue", "fair", "acquire"))
	fairRelease = redis.NewScript(lua.Join("clock", "token", "holds", "queue", "fair", "release"))
	fairForce   = redis.NewScript(lua.Join("clock", "holds", "queue", "fair", "force"))
	fairStay    = redis.NewScript(lua.Join("clock", "queue", "fair", "stay"))
)

// Fair returns the lock with the name, as the owner sees it: a Reentrant that those who wait get in the order in which
// they came to Redis, from whichever process, by Redis's clock. TryLock returns ErrNotObtained while somebody waits,
// also when the lock is free; an owner who has it enters again past all who wait.
//
// A waiter who dies delays the others by five seconds at most, however many die with them, and one who leaves delays
// nobody. A process that is stopped for longer than four seconds may lose its places, and lines up again.
func (l *Locker) Fair(name string, owner Owner, opts ...Option) *Lock {
	k := newKeys(l.prefix, "fair", name)
	p := holds{l, k, scripts{fairAcquire, fairRelease, fairForce, fairStay}, []string{k.lock, k.slot, "", k.more("queue"), k.more("places")}}
	return l.newLock(k, p, traits{owned: true}, owner, opts)
}

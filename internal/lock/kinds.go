package lock

import (
	"slices"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock/lua"
)

// script joins the named Lua files into one script.
func script(names ...string) *redis.Script { return redis.NewScript(lua.Join(names...)) }

// kinds are the kinds of locks; those in package group are combined from them.
type kinds struct{ mutex, reentrant, fair, write, read *kind }

func newKinds() kinds {
	// A mutex is a string, while the other kinds are sorted sets: a string costs Redis less time (lab/notes/locks.md).
	mutex := &kind{
		name:    "mutex",
		acquire: script("mutex_take", "token", "mutex_acquire"),
		release: script("mutex_free", "mutex_release"),
		handOn:  script("token", "mutex_free", "mutex_release"),
		force:   script("mutex_free", "mutex_force"),
		renew:   script("token", "mutex_renew"),
		state:   script("mutex_state"),
	}
	owned := func(last string, turn ...string) *redis.Script {
		return script(slices.Concat([]string{"clock", "token", "holds"}, turn, []string{last})...)
	}
	reentrant := kind{
		name:    "reentrant",
		owned:   true,
		acquire: owned("acquire", "reentrant"),
		release: owned("release", "reentrant"),
		force:   owned("force", "reentrant"),
		renew:   owned("renew"),
		state:   owned("state"),
	}
	queued := func(turn ...string) *kind {
		k := reentrant
		k.name = turn[len(turn)-1]
		k.acquire = owned("acquire", turn...)
		k.release = owned("release", turn[:2]...)
		k.force = owned("force", turn[:2]...)
		k.stay = owned("stay", turn[:2]...)
		return &k
	}
	return kinds{
		mutex, &reentrant, queued("queue", "fair"),
		queued("queue", "readwrite", "write"), queued("queue", "readwrite", "read"),
	}
}

// Mutex returns the lock with the name. It has one holder at a time and is not reentrant: every call counts as a new
// owner. A call under a context of a hold of the same lock would wait for itself, and gets ErrReentry.
//
// The name may be any bytes. Processes that use the same name and prefix on the same Redis exclude each other. Without
// options the lock has a lease of DefaultLease, which is renewed.
func (l *Locker) Mutex(name string, opts ...Option) *Lock {
	return l.newLock(l.kinds.mutex, newKeys(l.prefix, "mutex", name), "", opts)
}

// Reentrant returns the lock with the name, for the owner. Its owner may take it again while holding it, and it is free
// once every hold is released. Other owners wait until then.
//
// Each hold has its own lease, is renewed or not according to its options, and can be lost alone: the lock stays taken
// as long as one of them lives. All holds of one stay share the first one's token.
//
// The owner is a value from NewOwner; pass it to the code that may enter again. The zero Owner is refused with
// ErrNoOwner.
// Goroutines that share an owner, in one process or in several, do not exclude each other: when one of them obtains the
// lock, the others that wait for it enter as well, ahead of all other owners.
func (l *Locker) Reentrant(name string, owner Owner, opts ...Option) *Lock {
	return l.newLock(l.kinds.reentrant, newKeys(l.prefix, "reentrant", name), owner, opts)
}

// Fair returns the lock with the name, for the owner. It is a Reentrant whose waiters are served in the order in which
// they reached Redis, across processes, by Redis's clock. TryLock returns ErrNotObtained while somebody waits, even if
// the lock is free; an owner who holds it enters again ahead of all waiters.
//
// Waiters that die delay the others by at most five seconds, however many die together; a waiter that leaves delays
// nobody. A process that is stopped for more than four seconds may lose its places, and queues again.
func (l *Locker) Fair(name string, owner Owner, opts ...Option) *Lock {
	k := newKeys(l.prefix, "fair", name)
	return l.newLock(l.kinds.fair, k.with(k.more("queue"), k.more("places")), owner, opts)
}

// Write returns the writing side of the read-write lock with the name, for the owner. A writer holds the lock alone,
// may take it again, and may take Read as well. If it releases Write first, it goes on reading, and waiting readers are
// let in.
//
// An owner who reads and asks for Write would wait for itself, and gets ErrUpgrade. To write, release Read first, and
// read again what was read before.
//
// Readers and writers are served in the order in which they reached Redis, as with Fair; readers with no writer between
// them share the lock. So a writer waits for the readers that came before it, and later readers wait for the writer:
// neither starves. TryLock returns ErrNotObtained while somebody waits.
func (l *Locker) Write(name string, owner Owner, opts ...Option) *Lock {
	return l.newLock(l.kinds.write, readWriteKeys(l.prefix, name), owner, opts)
}

// Read returns the reading side of the read-write lock with the name, for the owner. Readers share the lock, may take
// it again ahead of all waiters, and keep writers out. The order is described at Write; TryLock returns ErrNotObtained
// while a writer waits.
//
// Each hold has its own lease, independent of other holds: a reader that dies keeps writers out until its own lease
// ends. All readers that share the lock have the same token, and a writer after them has a higher one. State of Read
// lists the readers, State of Write the writer; ForceUnlock of Read ends all reading, ForceUnlock of Write the writing.
func (l *Locker) Read(name string, owner Owner, opts ...Option) *Lock {
	k := readWriteKeys(l.prefix, name)
	k.all[0] = k.more("readers")
	return l.newLock(l.kinds.read, k, owner, opts)
}

// readWriteKeys returns the keys of the writing side. Its first further key holds the readers' holds; queue.lua and
// readwrite.lua describe the others.
func readWriteKeys(prefix, name string) keys {
	k := newKeys(prefix, "readwrite", name)
	return k.with(
		k.more("queue"), k.more("places"), k.more("readers-queue"), k.lock, k.more("readers"), k.more("reads"),
	)
}

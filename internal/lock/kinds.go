package lock

import (
	"slices"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock/lua"
)

// script is put together from the named texts.
func script(names ...string) *redis.Script { return redis.NewScript(lua.Join(names...)) }

// kinds are all kinds of locks that are not made of others.
type kinds struct{ mutex, reentrant, fair, write, read *kind }

func newKinds() kinds {
	// A mutex's state is a string, and not the sorted set of the others, which takes Redis less time (docs/locks.md).
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

// Mutex returns the lock with the name that one holder has at a time, and that lets nobody in again: every call of Lock
// is a stranger to all others. A call under a context of a hold of the same lock would wait for itself; it is told
// ErrReentry.
//
// The name may be any bytes. Processes that use the same name and prefix on the same Redis exclude each other. Without
// an option the lock has a lease of DefaultLease, which is renewed.
func (l *Locker) Mutex(name string, opts ...Option) *Lock {
	return l.newLock(l.kinds.mutex, newKeys(l.prefix, "mutex", name), "", opts)
}

// Reentrant returns the lock with the name, as the owner sees it: they may take it again while they have it, and it is
// free when each of their holds was released. Other owners stay out until then.
//
// Each hold has a lease of its own, is renewed or not as its options say, and can be lost alone: the lock is taken as
// long as one of them lives. All holds of one stay have the same token, that of the first.
//
// The owner is a value from NewOwner, to be passed along by those who are to enter again; with the zero Owner the
// lock is refused, with ErrNoOwner. Goroutines that share it, in one process or several, do not exclude each other:
// when one of them obtains the lock, the others that wait for it enter as well, past all other owners.
func (l *Locker) Reentrant(name string, owner Owner, opts ...Option) *Lock {
	return l.newLock(l.kinds.reentrant, newKeys(l.prefix, "reentrant", name), owner, opts)
}

// Fair returns the lock with the name, as the owner sees it: a Reentrant that those who wait get in the order in which
// they came to Redis, from whichever process, by Redis's clock. TryLock returns ErrNotObtained while somebody waits,
// also when the lock is free; an owner who has it enters again past all who wait.
//
// A waiter who dies delays the others by five seconds at most, however many die with them, and one who leaves delays
// nobody. A process that is stopped for longer than four seconds may lose its places, and lines up again.
func (l *Locker) Fair(name string, owner Owner, opts ...Option) *Lock {
	k := newKeys(l.prefix, "fair", name)
	return l.newLock(l.kinds.fair, k.with(k.more("queue"), k.more("places")), owner, opts)
}

// Write returns the writing side of the read-write lock with the name, as the owner sees it: they have it alone, may
// take it again while they have it, and may take Read as well. If they release Write first they read on, and readers
// who wait are let in.
//
// Who reads and does not write would wait for themselves: they are told ErrUpgrade. To write they release Read first,
// and look again at what they had read.
//
// Readers and writers get the lock in the order in which they came to Redis, as with Fair; readers with no writer
// between them share it. So a writer waits for those who read when they came, and readers who come later wait for the
// writer: neither is starved. TryLock returns ErrNotObtained while somebody waits.
func (l *Locker) Write(name string, owner Owner, opts ...Option) *Lock {
	return l.newLock(l.kinds.write, readWriteKeys(l.prefix, name), owner, opts)
}

// Read returns the reading side of the read-write lock with the name, as the owner sees it: they share it with all who
// read, may take it again past all who wait, and keep writers out. Write says in what order it is obtained; TryLock
// returns ErrNotObtained while a writer waits.
//
// Each hold has a lease of its own, which those of others neither lengthen nor shorten: a reader who dies keeps writers
// out until its own lease ends. All who share the lock have the same token, and a writer after them has a higher one.
// The State of Read lists the readers, that of Write the writer; ForceUnlock of Read ends all reading, that of Write
// the writing.
func (l *Locker) Read(name string, owner Owner, opts ...Option) *Lock {
	k := readWriteKeys(l.prefix, name)
	k.all[0] = k.more("readers")
	return l.newLock(l.kinds.read, k, owner, opts)
}

// readWriteKeys returns the keys of a lock for the side that writes; the holds of the side that reads come first
// among its own. queue.lua and readwrite.lua say what the others are.
func readWriteKeys(prefix, name string) keys {
	k := newKeys(prefix, "readwrite", name)
	return k.with(
		k.more("queue"), k.more("places"), k.more("readers-queue"), k.lock, k.more("readers"), k.more("reads"),
	)
}

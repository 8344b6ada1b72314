package lock

import (
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock/lua"
)

var (
	readAcquire = redis.NewScript(lua.Join("clock", "token", "holds", "queue", "readwrite", "read", "acquire"))
	readRelease = redis.NewScript(lua.Join("clock", "token", "holds", "queue", "readwrite", "release"))
	readForce   = redis.NewScript(lua.Join("clock", "holds", "queue", "readwrite", "force"))
	readStay    = redis.NewScript(lua.Join("clock", "holds", "queue", "readwrite", "stay"))
)

var writeAcquire = redis.NewScript(lua.Join("clock", "token", "holds", "queue", "readwrite", "write", "acquire"))

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
	return l.readWrite(name, owner, opts, writeAcquire, func(write, _ string) string { return write })
}

// Read returns the reading side of the read-write lock with the name, as the owner sees it: they share it with all who
// read, may take it again past all who wait, and keep writers out. Write says in what order it is obtained; TryLock
// returns ErrNotObtained while a writer waits.
//
// Each hold has a lease of its own, which those of others neither lengthen nor shorten: a reader who dies keeps writers
// out until then. All who share the lock have the same token, and a writer after them has a higher one. State says who
// reads, that of Write who writes; ForceUnlock ends all reading, that of Write the writing.
func (l *Locker) Read(name string, owner Owner, opts ...Option) *Lock {
	return l.readWrite(name, owner, opts, readAcquire, func(_, read string) string { return read })
}

// readWrite returns one side of a lock, whose own holds come first among the keys. queue.lua and readwrite.lua say what
// the others are.
func (l *Locker) readWrite(
	name string, owner Owner, opts []Option, acquire *redis.Script, own func(write, read string) string,
) *Lock {
	k := newKeys(l.prefix, "readwrite", name)
	readers := k.more("readers")
	p := holds{l, k, scripts{acquire, readRelease, readForce, readStay}, []string{
		own(k.lock, readers), k.slot, "", k.more("queue"), k.more("places"), k.more("readers-queue"),
		k.lock, readers, k.more("reads"),
	}}
	return l.newLock(k, p, traits{owned: true}, owner, opts)
}

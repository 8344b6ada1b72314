package lock

import (
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed readers.lua
	readersLua string
	//go:embed readers_state.lua
	readersStateLua string
	//go:embed readwrite.lua
	readWriteLua string
	//go:embed read.lua
	readLua string
	//go:embed write.lua
	writeLua string
)

var (
	readAcquire = redis.NewScript(
		clockLua + tokenLua + readersLua + queueLua + readWriteLua + readLua + reentrantAcquireLua,
	)
	readRenew    = redis.NewScript(clockLua + readersLua + reentrantRenewLua)
	readRelease  = redis.NewScript(clockLua + tokenLua + readersLua + queueLua + readWriteLua + reentrantReleaseLua)
	readReadings = redis.NewScript(clockLua + readersStateLua)

	writeAcquire = redis.NewScript(
		clockLua + tokenLua + holdsLua + queueLua + readWriteLua + writeLua + reentrantAcquireLua,
	)
	writeRelease = redis.NewScript(clockLua + tokenLua + holdsLua + queueLua + readWriteLua + reentrantReleaseLua)

	readWriteStay  = redis.NewScript(clockLua + queueLua + readWriteLua + queueStayLua)
	readWriteForce = redis.NewScript(clockLua + queueLua + readWriteLua + queueForceLua)
)

// Write returns the writing side of the read-write lock with the name, as the owner sees it: he has it alone, may take
// it again while he has it, and may take Read as well. If he releases Write first he reads on, and readers who wait
// are let in.
//
// Who reads and does not write would wait for himself: he is told ErrUpgrade. To write he releases Read first, and
// looks again at what he had read.
//
// Readers and writers get the lock in the order in which they came to Redis, as with Fair; readers with no writer
// between them share it. So a writer waits for those who read when he came, and readers who come later wait for him:
// neither is starved. TryLock returns ErrNotObtained while somebody waits.
func (l *Locker) Write(name string, owner Owner, opts ...Option) *Lock {
	p := write{newReadWrite(l, name)}
	return l.newLock(name, p.keys, p, traits{owned: true}, owner, opts)
}

// Read returns the reading side of the read-write lock with the name, as the owner sees it: he shares it with all who
// read, may take it again past all who wait, and keeps writers out. Write says in what order it is obtained; TryLock
// returns ErrNotObtained while a writer waits.
//
// Each hold has a lease of its own, which those of others neither lengthen nor shorten: a reader who dies keeps writers
// out until then. All who share the lock have the same token, and a writer after them has a higher one. State says who
// reads, that of Write who writes; ForceUnlock ends all reading, that of Write the writing.
func (l *Locker) Read(name string, owner Owner, opts ...Option) *Lock {
	p := read{newReadWrite(l, name)}
	return l.newLock(name, p.keys, p, traits{owned: true}, owner, opts)
}

// readWrite is what the protocols of Read and Write have in common. Of the keys, lock is the writer's.
type readWrite struct{ keys keys }

func newReadWrite(l *Locker, name string) readWrite {
	return readWrite{newKeys(l.prefix, name, "readwrite")}
}

// names are the keys of all scripts, which begin with those of one side's holds; queue.lua and readwrite.lua say what
// they are.
func (r readWrite) names(holds string, c claim) []string {
	return []string{
		holds, r.keys.counter, r.keys.latch(c.request), r.keys.queue(), r.keys.places(), r.keys.readersQueue(),
		r.keys.lock, r.keys.readers(),
	}
}

func (r readWrite) stay(c claim) call {
	return call{readWriteStay, r.names(r.keys.lock, c), []any{c.request, c.placeMS(), r.keys.waiter("")}}
}

func (r readWrite) channel(c claim) string { return r.keys.waiter(c.request) }

func (r readWrite) acquire(s *redis.Script, holds string, c claim, floor int64) call {
	return call{s, r.names(holds, c), []any{string(c.owner), c.ms(), floor, c.request, c.placeMS()}}
}

func (r readWrite) release(s *redis.Script, holds string, c claim) call {
	return call{
		s, r.names(holds, c), []any{string(c.owner), latchTime.Milliseconds(), r.keys.waiter(""), c.request},
	}
}

func (r readWrite) force(holds string) call {
	return call{readWriteForce, r.names(holds, claim{}), []any{r.keys.waiter("")}}
}

// write is the protocol of Write.
type write struct{ readWrite }

func (w write) acquire(c claim, floor int64) call {
	return w.readWrite.acquire(writeAcquire, w.keys.lock, c, floor)
}

func (w write) renew(c claim, lease time.Duration) call { return reentrant{w.keys}.renew(c, lease) }

func (w write) release(c claim, _ ending) call {
	return w.readWrite.release(writeRelease, w.keys.lock, c)
}

func (w write) force() call { return w.readWrite.force(w.keys.lock) }

func (w write) state() call { return reentrant{w.keys}.state() }

// read is the protocol of Read.
type read struct{ readWrite }

func (r read) acquire(c claim, floor int64) call {
	return r.readWrite.acquire(readAcquire, r.keys.readers(), c, floor)
}

func (r read) renew(c claim, lease time.Duration) call {
	return call{
		readRenew, r.names(r.keys.readers(), c), []any{string(c.owner), lease.Milliseconds(), c.request},
	}
}

func (r read) release(c claim, _ ending) call {
	return r.readWrite.release(readRelease, r.keys.readers(), c)
}

func (r read) force() call { return r.readWrite.force(r.keys.readers()) }

func (r read) state() call { return call{readReadings, []string{r.keys.readers()}, nil} }

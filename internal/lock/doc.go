// Package lock keeps two processes from doing the same work at the same time, through one Redis.
//
//	locker := lock.New(client, "myapp:")
//	hold, err := locker.Mutex("report").Lock(ctx) // or TryLock
//	if err != nil {
//		return err
//	}
//	ctx, cancel := hold.Context(ctx) // ends when the lock is lost
//	defer cancel()
//	...                              // pass hold.Token() to what must not be written by a stale holder
//	return hold.Release(ctx)
//
// # What it promises, and what not
//
// A lock saves work. Two holders at once are prevented as long as Redis keeps what it acknowledged and its clock runs
// on; they are not prevented across a failover to a replica that lagged, a restart that lost the last writes, a step of
// Redis's clock, or a holder that is stopped past its lease and goes on writing before it notices. Correctness lives at
// the resource: a unique key, or a write that is refused when it carries a lower [Hold.Token] than one seen before.
//
// # How it works
//
// Authoritative is the lock's key in Redis: a hash with the owner and his token, which always has a time to live, the
// lease. Every attempt has an owner of its own, a random UUID, never a goroutine or a process. All changes are scripts
// (the .lua files beside this one say what they take and return), each safe to repeat with the same owner, so that a
// lost answer is asked for again and a client that repeats commands by itself does no harm.
//
//	Lock ── acquire ──► held: token, lease ──► renewed every lease/3 ──► Release ──► freed, published
//	          │ ▲                                  │
//	          ▼ │ published, lease over,           ├─ answer "not yours" ──► lost
//	        waits │ subscribed (again)             └─ no answer until lease − drift after
//	          └───┘                                   the last request that was answered ──► lost
//
// Without an option a lock has a lease of [DefaultLease] and is renewed until it is released or lost. With [WithLease]
// it is never renewed. The holder learns of a loss before the lease can end in Redis, because he counts from the
// moment when he sent the request, on the monotonic clock, and allows for clocks that run at different speeds.
//
// # What can go wrong
//
//	the acquire's answer is lost     asked again once; then given up: released under a timeout of its own, and an acquire
//	                                 that arrives later is refused. If Redis cannot be reached for that either, the lock
//	                                 is free after the lease
//	the release's answer is lost     asked again once, and again by the next call of Release; success is success
//	the caller's context is over     Release does not mind, it has its own timeout
//	the holder dies                  the lock is free after the lease; waiters know how long that is
//	Redis cannot be reached          TryLock, Lock and Release return its error; a holder is told of the loss in time
//	the key was removed or taken     the holder is told at the next renewal
//	Redis lost everything            as before; tokens still rise, because their counter starts at the time in
//	                                 microseconds. So they do when a lock is not taken for a day: then the counter
//	                                 expires
//	a message to waiters is lost     they look again when the lease is over, or when their connection is back
//
// The scripts' keys share one hash tag, so that they work in a cluster, and run on an in-process Redis as well.
package lock

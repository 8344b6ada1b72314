// Package lock keeps two processes from doing the same work at the same time, through Redis.
//
//	locker := lock.New(client, "myapp:")
//	err := locker.Mutex("report").Do(ctx, func(ctx context.Context, h *lock.Hold) error {
//		return report(ctx, h.Token()) // ctx ends when the lock is lost; the token makes stale writes harmless
//	})
//
// A process has one [Locker]. Its methods make locks: Mutex, Reentrant, Fair, Read and Write. All are used in the same
// way, as a [Lock], which gives a [Hold]. Package group makes one lock of several.
//
// A lock saves work. Two holders at once are prevented as long as Redis keeps what it acknowledged and its clock runs
// on; they are not prevented across a failover that loses writes, a step of the clock, or a holder that is stopped past
// its lease and writes before it notices. Correctness lives at the resource: a unique key, or a write that is refused
// when it carries a lower [Hold.Token] than one seen before.
//
// Authoritative is the lock's key in Redis, which names the owner and their token and always has a time to live, the
// lease. Every call is a request with a name of its own; what it obtains is a hold. All changes are scripts (package
// lua), each safe to repeat with the same request.
//
//	Lock ── acquire ──► held: token, lease ──► renewed every lease/3 ──► Release ──► freed, published
//	          │ ▲                                  │
//	          ▼ │ published, lease over,           ├─ answer "not yours" ──► lost
//	        waits │ subscribed (again)             └─ no answer until lease − drift after
//	          └───┘                                   the last request that was answered ──► lost
//
// docs/locks.md has the rest: queues, tokens, cost, and the tables of what can go wrong and what happens then.
//
// Another kind of lock is a Locker method, and its scripts (kinds.go), which take and return what those of the others
// do (protocol.go). In the tests it is an entry in kinds, with the rows that it claims.
package lock

// Package lock keeps two processes from doing the same work at the same time, through Redis.
//
//	locker, err := lock.New(client, "myapp:")
//	…
//	err = locker.Mutex("report").Do(ctx, func(ctx context.Context, h *lock.Hold) error {
//		return report(ctx, h.Token()) // ctx ends when the lock is lost; the token makes stale writes harmless
//	})
//
// A process has one [Locker]. Its methods make locks: Mutex, Reentrant, Fair, Read and Write. Every kind is a [Lock];
// taking it gives a [Hold]. Package group combines several locks into one.
//
// A lock saves work; it does not make work correct. Redis prevents two holders at once as long as it keeps what it
// acknowledged and its clock runs forward. There can be two after a failover that loses writes, after a step of the
// clock, or when a holder is stopped past its lease and writes before it notices. Correctness lives at the resource: a
// unique key, or a write that is refused if its [Hold.Token] is lower than one seen before.
//
// The lock's key in Redis is authoritative: it names the owner and their token, and always has a time to live, the
// lease. Every call is a request with a unique name; a request that obtains the lock becomes a hold. All changes are
// scripts (package lua). Repeating a script with the same request changes nothing more.
//
//	Lock ── acquire ──► held: token, lease ──► renewed every lease/3 ──► Release ──► freed, published
//	          │ ▲                                  │
//	          ▼ │ published, lease over,           ├─ answer "not yours" ──► lost
//	        waits │ subscribed (again)             └─ no answer until lease − drift after
//	          └───┘                                   the last request that was answered ──► lost
//
// README.md has the rest: queues, tokens, cost, and the tables of failures and what follows from each.
//
// To add a kind of lock, add a Locker method and its scripts (kinds.go) with the arguments and answers of the other
// kinds (protocol.go). In the tests, add it to kinds with the promises that it makes.
package lock

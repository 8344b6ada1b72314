// Package lock keeps two processes from doing the same work at the same time, through Redis.
//
//	locker := lock.New(client, "myapp:")
//	err := locker.Mutex("report").Do(ctx, func(ctx context.Context, h *lock.Hold) error {
//		// ctx ends when the lock is lost; h.Token() goes along with what must not be written by a stale holder.
//		return report(ctx, h.Token())
//	})
//
// A process has one [Locker] for all its locks. Its methods make them, one method for each kind; all kinds are used in
// the same way, as a [Lock], which gives a [Hold].
//
//	Mutex      one holder at a time; every call of Lock is a stranger to all others
//	Reentrant  its owner, a value that is passed along, may take it again while he has it
//	Fair       a Reentrant that those who wait get in the order in which they came, from whichever process
//	Read       the side of a read-write lock that many owners share; in the same order
//	Write      the side that one owner has alone, who may also read
//
// Of several locks, of one Locker or more, a function makes one.
//
//	Multi      all of them, or none
//	Red        the same lock on independent servers: a majority of them
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
// Authoritative is the lock's key in Redis, which names the owner and his token and always has a time to live, the
// lease. (A mutex's key stays for a while after the release, and says which token was the last.) Every call of Lock or
// TryLock is a request with a name of its own, a random UUID. All changes are scripts (the .lua files beside this one
// say what they take and return), each safe to repeat with the same request, so that a lost answer is asked for again
// and a client that repeats commands by itself does no harm.
//
//	Lock ── acquire ──► held: token, lease ──► renewed every lease/3 ──► Release ──► freed, published
//	          │ ▲                                  │
//	          ▼ │ published, lease over,           ├─ answer "not yours" ──► lost
//	        waits │ subscribed (again)             └─ no answer until lease − drift after
//	          └───┘                                   the last request that was answered ──► lost
//
// Without an option a lock has a lease of [DefaultLease] and is renewed until it is released or lost. With [WithLease]
// it is never renewed, only looked after. The holder learns of a loss before the lease can end in Redis, because he
// counts from the moment when he sent the request, on the monotonic clock, and allows for clocks that run at different
// speeds. What is due at about the same time is renewed in one request.
//
// Those of one Locker who wait for the same lock stand in a queue, and only the first of them asks Redis: when a
// release is published, and when the holder's lease should be over. All of them listen through one connection, which
// exists while somebody waits. A mutex that is released goes to the first of its process's queue in the same step, up
// to sixteen times in a row; then it is free for the others.
//
// # Queues
//
// Those who wait for Fair, Read or Write stand in a queue in Redis besides, by Redis's clock; clients' clocks are never
// asked. Each has a place, listens on a channel of his own, and a release tells only those whose turn it is:
//
//	asks ── refused ──► has a place ──► told that it is his turn ──► asks, and has the lock
//	                     │      ▲
//	                     ▼      │ kept for 4 s after he was last heard of,
//	                   1 s passed; one request for all who wait in a process
//
// Whoever comes by takes away the places that are over, and tells whose turn it is then. So a waiter who died delays
// the others by 5 s at most, and many who died together do not add up. One who leaves takes his place along.
//
// Readers and writers have one order: readers with no writer between them go together, a writer waits for those who
// came before him, and readers who come later wait for him. So neither is starved. What it costs: while a writer waits
// for a slow reader, no new reader is let in.
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
//	the key was removed or taken     the holder is told when he renews or looks next, within a third of the lease
//	Redis lost everything, or its    as before; tokens still rise, because none is below the time in microseconds.
//	last writes, or the counter      If the clock went back as well, they rise for every process that has seen one
//	a message to waiters is lost     they look again when the lease is over, or when their connection is back; in a
//	                                 queue, when their places are kept, a second later
//	a waiter in a queue dies         his place is over after 4 s, and the next one is told within a second
//	a waiter is stopped for longer   he has lost his place, and lines up again when he runs
//
// The scripts' keys share one hash tag, so that they work in a cluster, and run on an in-process Redis as well.
//
// # A lock made of others
//
// Its members are tried at the same time, each as always, under one request. What was obtained is one Hold if it is
// enough, and is given back if not. Each part of it is renewed by its own Locker, and when one ends the rest is counted.
// Who waits for such a lock waits for one member, and has none of the others meanwhile.
//
// A majority hides the loss of servers, not of their memory or their clocks: one that restarts empty, or whose clock
// jumps, gives its part away, and with enough of them two have the lock. The token is what the resource can tell them by.
//
// # Another kind of lock
//
// It is a file with a [Locker] method and a protocol, which says what scripts the kind is made of, and those scripts.
// Attempts, waiting, renewal and release are written once, for all of them. Scripts are put together from preludes, so
// that one text takes and releases holds whether one owner has them or many, and whether there is a queue or not. In
// the tests it is an entry in kinds with the rows that it claims, and perhaps new rows.
package lock

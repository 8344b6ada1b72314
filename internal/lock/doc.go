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
//	Reentrant  its owner, a value that is passed along, may take it again while they have it
//	Fair       a Reentrant that those who wait get in the order in which they came, from whichever process
//	Read       the side of a read-write lock that many owners share; in the same order
//	Write      the side that one owner has alone, who may also read
//
// Of several locks, of one Locker or more, a function makes one.
//
//	Multi      all of them, or none
//	Redlock    the same lock on independent servers: a majority of them
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
// Authoritative is the lock's key in Redis, which names the owner and their token and always has a time to live, the
// lease. (A mutex's key stays for 15 s after the release, and says which token was the last.) Every call of Lock or
// TryLock is a request with a name of its own, a random UUID; what it obtains is a hold. All changes are scripts
// (package lua says what they take and return), each safe to repeat with the same request, so that a lost answer is
// asked for again and a client that repeats commands by itself does no harm.
//
//	Lock ── acquire ──► held: token, lease ──► renewed every lease/3 ──► Release ──► freed, published
//	          │ ▲                                  │
//	          ▼ │ published, lease over,           ├─ answer "not yours" ──► lost
//	        waits │ subscribed (again)             └─ no answer until lease − drift after
//	          └───┘                                   the last request that was answered ──► lost
//
// Without an option a lock has a lease of [DefaultLease] and is renewed until it is released or lost. With
// [WithLease] it is renewed by [Hold.Refresh] alone, and looked after. The holder learns of a loss before the lease
// can end in Redis: it is counted from when the request was sent, on the monotonic clock, with an allowance for
// clocks that run at different speeds. What is due at about the same time is renewed in one request. [Hold.Err] and
// its contexts' Err compare with the clock themselves; what a timer closes may be late by one scheduling delay.
//
// Those of one Locker who wait for the same lock stand in a queue, and only the first of them asks Redis: when a
// release is published, when the holder's lease should be over, and every 4 s in any case. All of them listen through
// one connection, which exists while somebody waits, is pinged when it says nothing for a second, and replaced when
// it says nothing after that. A mutex that is released is handed to the first of its process's queue in the same
// step, up to sixteen times in a row; then it is free for the others.
//
// # Tokens
//
// A token is the highest of Redis's time in microseconds, the last one plus one, and what the asking client has seen
// plus one. Locks are spread over 1,024 hash tags, the slots; each keeps the highest token of all its locks for a
// day, its high water, which is raised before a token is handed out. So tokens rise when the key of a lock has gone
// and the clock was set back, and names that are used once leave nothing behind.
//
// # Queues
//
// Those who wait for Fair, Read or Write stand in a queue in Redis besides, by Redis's clock; clients' clocks are never
// asked. Each request has a place there; the process keeps all of its places at once, and a release tells the processes
// of those whose turn it is, and of those whose owner has just got the lock, as they enter past all others:
//
//	asks ── refused ──► has a place ──► told that it is their turn ──► asks, and has the lock
//	                     │      ▲
//	                     ▼      │ kept for 4 s after its process was last heard of,
//	                   1 s passed; one script for all who wait for the lock in a process
//
// Any waiter that looks removes dead processes' places from the head. So a waiter that dies delays the others by 5 s
// at most, and many who die together do not add up. One who leaves takes their place along.
//
// Readers and writers have one order: readers with no writer between them go together, a writer waits for those who
// came before, and readers who come later wait for the writer. So neither is starved. What it costs: while a writer
// waits for a slow reader, no new reader is let in.
//
// # Cost
//
// No script touches more than 500 holds or places, however many there are: what is over is removed in such steps,
// that many readers are told at once and tell the others, and State reads in such pages. Those who wait for a lock in
// a process cost one script each second, or 4 s where there is no queue in Redis.
//
// Acquires and releases of a Locker that come while two requests are under way share the next one: who is alone waits
// for nobody, and many share the price of a request, which is most of a call's. When it is not answered within 50 ms
// they ask again, and for ten seconds a request may take 3 s, and eight are under way: nobody waits behind one that
// is not answered, and thousands of calls do not wait for a connection each. Without a client that ends a call at its
// deadline (ContextTimeoutEnabled) it is always so. A client of several servers, as a cluster's, is asked by the
// calls of one slot together, so that a server that says nothing holds up its own locks only.
//
// # Answers that do not come
//
// Every call is asked twice at most, and what may have been done is given up under its request's name. The numbers are
// those of the rows in the tests.
//
//	acquire, its answer is lost      asked again once; then given up, and an acquire that arrives later is refused
//	                                 (14). If Redis cannot be reached for that either, the lock is free after the
//	                                 lease
//	acquire, cancelled               returns within 100 ms, also when Redis is silent (54). What was not sent never
//	                                 is; what was is given up in the background, in whichever order the two arrive
//	                                 (13, 24)
//	Lock, cancelled when refused     is told that its context is over, besides that others have the lock (12)
//	acquire, cancelled in a queue    the place is given up in the same way (33, 37)
//	many are cancelled               each gives up in the background, for 5 s at most; while 256 or more do, new
//	                                 calls that could be left fail at once, with an error that is not ErrNotObtained
//	                                 (54). Of a client of several servers those do whose slot has four or more
//	                                 there: so they are no more than 256 and four for each slot, and a server that
//	                                 answers serves on
//	release, its answer is lost      asked again once, and again by the next call of Release; success is success,
//	                                 and a successor is not touched (15)
//	release, while Redis is slow     has 1.5 s for the first try, whatever became of its caller's context, and 3 s
//	                                 for the second: a connection that says nothing costs one (15), and calls that
//	                                 it waits behind do not cost it either
//	release to the next one, lost    asked again: it says what the next one has got. They ask themselves as well.
//	                                 One that arrives later does nothing, as the mutex is not its owner's any more
//	                                 (14)
//	the next one was cancelled       before: the mutex is freed, for all; meanwhile: they give it up (12)
//
// # What else can go wrong
//
//	the holder dies                  the lock is free after the lease; waiters know how long that is
//	the same, and Redis's clock is   a mutex is free after two leases: who asks for it sees that its time to live is
//	set back                         longer than its lease, and ends it a lease later. Other kinds: when the clock has
//	                                 caught up
//	the holder is frozen             Err says that the lock is lost, at the first call after it runs again
//	Redis cannot be reached          TryLock, Lock and Release return its error, to all who wait in the process; a
//	                                 holder is told of the loss in time
//	Redis is full                    locks can be released, and mostly not obtained
//	the key was removed or taken     the holder is told when they renew or look next, within a third of the lease
//	Redis lost everything, or its    as before; tokens still rise, because none is below the time in microseconds.
//	last writes, or the high water   If the clock went back as well, they rise for every process that has seen one
//	a message to waiters is lost     they look again when the lease is over, after 4 s, or when their connection is
//	                                 back; in a queue, when their places are kept, a second later
//	a connection is half open        that of waiters: no byte for 2.5 s, in spite of a PING: it is replaced, and all
//	                                 look. That of a call: when it is not answered, every idle connection has to
//	                                 answer a PING within 50 ms or is dropped, and the call is asked again (63)
//	Redis says nothing               ErrNoAnswer, with the context's error if that is over; never ErrNotObtained (64)
//	a master of a cluster is silent  its own locks only are held up. All waiters hear through one node: if it is
//	                                 that one, the others' look as if messages were lost, until the next connection
//	                                 is to another node
//	a waiter in a queue dies         its place is over after 4 s, and the next one is told within a second
//	a waiter is stopped for longer   it may have lost its place, and lines up again when it runs
//
// The scripts' keys share one hash tag, so that they work in a cluster, and run on an in-process Redis as well. What
// is asked of several masters at once goes to each in a request of its own, so that one that says nothing costs no
// hold of another.
//
// # A lock made of others
//
// Its members are tried at the same time, each as always, under one request. What was obtained is one Hold if it is
// enough, and is given back if not. Each part of it is renewed by its own Locker, and when one ends the rest is
// counted. One lock, or one server of a Redlock, twice among them is an error. Who waits for such a lock waits for
// one member, and has none of the others meanwhile.
//
// A majority hides the loss of servers, not of their memory or their clocks: one that restarts empty, or whose clock
// jumps, gives its part away, and with enough of them two have the lock. So a server does not count until it has run
// for a lease. The token is what the resource can tell them by.
//
// # Another kind of lock
//
// It is a [Locker] method, and the scripts that the kind is made of (kinds.go), which take and return what those of
// the others do (protocol.go). Attempts, waiting, renewal and release are written once. Scripts are put together from
// preludes, so that one text takes and releases holds whether one owner has them or many, and whether there is a
// queue or not. In the tests it is an entry in kinds with the rows that it claims, and perhaps new rows.
//
// It is one package because every kind is a few scripts over the same attempts, waiting and renewal, which nobody
// else uses.
package lock

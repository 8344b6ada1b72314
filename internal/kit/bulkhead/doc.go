// Package bulkhead divides a shared resource (requests in flight, connections to a store) among classes of callers, so
// that a crowd of one class cannot use it up: a hundred thousand readers leave room for purchases, and purchases leave
// room for recording them.
//
// A [Bulkhead] has a fixed number of permits. Each class has a sixteenth of them reserved, at least one. The rest are
// free for all, by rank: a low class gets one only while few of them are taken. So public reads are shed first, then
// own reads, background work, purchases, and admins and recording last:
//
//	class        gets a free permit while fewer are taken than
//	PublicRead   1/4 of them
//	OwnRead      1/2
//	Background   3/4
//	Purchase     all
//	Admin        all
//	Recording    all
//
// The class is a value of the context ([With]). The table of routes gives each route a class, and a background job gets
// its class where it is started. Without a class it is a purchase, so that the path of a purchase needs no context
// value. Work shared by several callers, such as one read for many of them, counts as that of the caller who started
// it.
//
// Callers either do not wait ([Bulkhead.Try]) or wait for a bounded time ([Bulkhead.Acquire]). Both fail with
// [ErrFull], and then nothing was done. A released permit goes to the highest class that waits and may have it, and
// within it to the caller who has waited longest.
//
// What can go wrong: a caller who holds a permit and asks for another one may wait for itself until the time limit;
// mark its context with [Bulkhead.Holding], so that it asks for no second one. A permit that is never released is lost;
// no timeout takes it back, because the connection would still be in use.
//
// Also considered: a pool of connections per class wastes what a class does not use, and every connection costs the
// server memory. golang.org/x/sync/semaphore has neither classes nor a bounded wait. Limits that follow the measured
// latency (as in TCP Vegas) adapt, but nobody can predict who is refused when.
package bulkhead

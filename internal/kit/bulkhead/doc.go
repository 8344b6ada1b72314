// Package bulkhead divides what all callers need (requests in flight, connections to a store) among classes of
// callers, so that a crowd of one class cannot take it from the others: a hundred thousand readers leave room for
// purchases, and purchases for recording what they bought.
//
// A [Bulkhead] has a fixed number of permits. Each class has a sixteenth of them for itself, at least one. The rest
// goes to those who come, by rank: the lower a class, the smaller the part of the rest that may be taken when it gets
// some. So public reads are shed first, then own reads, background work, purchases, and admins and recording last:
//
//	class        of the rest, while no more is taken than
//	PublicRead   1/4
//	OwnRead      1/2
//	Background   3/4
//	Purchase     all
//	Admin        all
//	Recording    all
//
// A class is a value of the context ([With]). A route has its class in the table of routes, and a background job
// where it is started; who says nothing is a purchase, whose path carries no value then. What callers share, such as
// one read for many of them, counts as the caller's who began it.
//
// Callers either do not wait ([Bulkhead.Try]), or wait for a bounded time ([Bulkhead.Acquire]). Both fail with
// [ErrFull], after which nothing was done. What is released goes to the highest class that waits and may have it, and
// in it to the one who waited longest.
//
// What can go wrong: a caller who holds a permit and asks for another one waits for themselves, in the worst case
// until the wait is over; [Bulkhead.Holding] marks a context so that what runs under it asks for no second one. A
// permit that is never released is lost; there is no timeout that would take it back, because the connection is in
// use all the same.
//
// Also considered: a pool of connections for each class wastes what a class does not use, and every connection costs
// the server memory. golang.org/x/sync/semaphore has neither classes nor a bounded wait. Limits that follow the
// measured latency (as in TCP Vegas) adapt, but nobody can say beforehand who is refused when.
package bulkhead

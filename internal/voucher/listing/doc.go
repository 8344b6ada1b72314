// Package listing is what an instance shows of vouchers to the public: the list of a shop, and single vouchers, from
// memory. A crowd asks for them before it buys, thousands of times a second and without a token; so neither store is
// asked more often than five times a second for each of them, however many ask, and not at all while nobody does.
//
//	Listings.List, Listings.Voucher ──► fresh? the Snapshot
//	      │
//	      └──► one call to Redis, at most every 200 ms, which all who ask meanwhile wait for: state and stock of
//	           the sales, and the version of the shop's list; entries that are due at the same time share it
//	           (package batch)
//	                │
//	                └──► version changed, or texts ten seconds old: one query to the ledger
//
// The ledger is authoritative for texts, prices and what is on the shelf, and Redis for what a sale does just now.
// Nothing here decides anything: only the answer to a purchase does. A [Snapshot] that could not be renewed says so
// (Stale).
//
// A list's version is a word in Redis, replaced with every change of a text or of visibility, by the instance that
// commits it and by the outbox that applies it. It is only a hint: without it a change shows within ten seconds.
//
// Which vouchers and shops there are is a set ([Index]), so that ids that do not exist reach no store one by one.
//
// What can go wrong, and what then happens:
//
//	Redis hangs, is away, or is emptied   the last snapshot, stale after a second; what was never read shows as
//	                                      preparing
//	the ledger hangs or is away           texts as they were, figures go on; stale once a re-read is due for a second
//	nothing is known yet, a store hangs   ErrUnavailable in less than a second, at once for those who come later
//	one sale's key is spoilt              that sale shows as preparing, the others as they are
//	a version is not replaced             texts are re-read ten seconds after they were read
//	more is asked for than fits           what is asked for least is forgotten, and read again when it is asked for
//	an unknown id                         one question for any number of callers, at most every 200 ms, before
//	                                      ErrNotFound
package listing

// Package listing shows vouchers to the public from this instance's memory: the list of a shop, and single vouchers. A
// crowd asks for them before it buys, thousands of times a second and without a token. So for each of them neither
// store is read more than five times a second, however many ask, and never while nobody asks.
//
//	Listings.List, Listings.Voucher ──► fresh? the Snapshot
//	      │
//	     └──► one call to Redis, at most every 200 ms, for which all callers wait meanwhile: state and stock of the
//	          sales, and the version of the shop's list; entries that are due at the same time share it
//	          (package batch)
//	                │
//	                └──► version changed, or texts ten seconds old: one query to the ledger
//
// The ledger is authoritative for texts, prices and shelf status, Redis for the present state of a sale. Nothing here
// decides anything; only the answer to a purchase does. A [Snapshot] that could not be renewed is marked Stale.
//
// A list's version is a word in Redis. Every change of a text or of visibility replaces it: the instance that commits
// the change does so, and the outbox that applies it. It is only a hint: without it a change shows within ten seconds.
//
// An [Index] holds the ids of all vouchers and shops, so that unknown ids do not reach a store one by one.
//
// What can go wrong, and what then happens:
//
//	Redis hangs, is away, or is emptied   the last snapshot, stale after a second; sales that were never read show
//	                                      as preparing
//	the ledger hangs or is away           old texts with new figures; stale once the texts are overdue by a second
//	nothing was read yet, a store hangs   ErrUnavailable in less than a second, at once for later callers
//	one sale's key holds nonsense         that sale shows as preparing, the others as they are
//	a version is not replaced             texts are re-read ten seconds after they were read
//	memory is full                        the entry asked for least is dropped, and read again when it is asked for
//	an unknown id                         one query for any number of callers, at most every 200 ms, before
//	                                      ErrNotFound
package listing

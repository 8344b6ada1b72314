// Package voucher defines what is sold, when, and how many: the vouchers of a shop, ordinary ones and seckill ones
// (offered in a limited number for a limited time), the rules that a new one and a change must satisfy, and the service
// that creates, changes and shows them.
//
// Authoritative is the ledger (MySQL): a voucher exists once its transaction there has committed, with both of its
// rows or with none. What Redis holds of a sale decides who gets a unit, but it is derived: a sale that is missing
// there (a crash between the commit and Redis, an emptied Redis) is rebuilt from the ledger by recovery.Reconciler,
// and until then the voucher is shown as [StatePreparing].
//
// A change of a voucher while it sells is committed in the ledger first, with a numbered operation where Redis has to
// apply it ([Changes], [Outbox]; rule 1, docs/architecture.md). An answer waits for Redis for up to three seconds.
// After that a change is answered as committed and not applied yet, unless it takes units: that is [ErrUndecided],
// because Redis may still refuse it, and repeating it with the same key tells.
//
//	what fails                         the admin's answer, and what then happens
//	the ledger, before the commit      unavailable; nothing was changed
//	Redis, after the commit            not applied yet; the outbox retries
//	Redis, when units are to be taken  undecided; the outbox retries, the same key tells the result
//	a rebuild intervenes               added units are in the rebuilt sale; a change that takes is void, and begun
//	                                   again here
//	fewer units are left               [InsufficientStockError] with how many; nothing was taken
//
// Who changed what is recorded with each change, in its transaction ([Entry]).
//
// The package imports no framework. Adapters (sqlstore, redisstore, httpapi) depend on it, never the other way.
package voucher

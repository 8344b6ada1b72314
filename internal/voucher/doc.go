// Package voucher defines what is sold, when, and how many: the vouchers of a shop, ordinary ones and seckill ones
// (offered in a limited number for a limited time), the rules that a new one and a change must satisfy, and the service
// that creates, changes and shows them.
//
// The ledger (MySQL) is authoritative: a voucher exists once its transaction there has committed, with both of its rows
// or with neither. The sale in Redis decides who gets a unit, but it is derived: if it is missing there (a crash
// between the commit and Redis, an emptied Redis), recovery.Reconciler rebuilds it from the ledger, and until then the
// voucher is shown as [StatePreparing].
//
// A change of a voucher while it sells is committed in the ledger first, with a numbered operation if Redis must apply
// it ([Changes], [Outbox]; rule 1, docs/architecture.md). The answer waits up to three seconds for Redis. After that it
// says that the change is committed and not applied yet, or, if the change takes units, [ErrUndecided]: Redis may still
// refuse it, and repeating it with the same key returns the decision.
//
//	what fails                         the admin's answer, and what then happens
//	the ledger, before the commit      unavailable; nothing was changed
//	Redis, after the commit            not applied yet; the outbox retries
//	Redis, when units are to be taken  undecided; the outbox retries, and the same key returns the decision
//	a rebuild intervenes               added units are in the rebuilt sale; a change that takes units is void, and
//	                                   this package begins it again
//	fewer units are left               [InsufficientStockError] with how many; nothing was taken
//
// Each change is recorded with its author, in its transaction ([Entry]).
//
// The package imports no framework. Adapters (sqlstore, redisstore, httpapi) depend on it, never the other way.
package voucher

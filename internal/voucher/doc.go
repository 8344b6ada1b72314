// Package voucher says what is sold, when, and how many: the vouchers of a shop, ordinary ones and seckill ones
// (offered in a limited number for a limited time), the rules that a new one and a change must satisfy, and the service
// that creates, changes and shows them.
//
// Authoritative is the ledger (MySQL): a voucher exists once its transaction there has committed, with both of its
// rows or with none. What Redis holds of a sale decides who gets in, but it is derived: a sale that is missing there
// (a crash between the commit and Redis, an emptied Redis) is rebuilt from the ledger by [order.Keeper], and until
// then the voucher is shown as [StatePreparing].
//
// A change of a voucher while it sells is committed in the ledger first, with a numbered operation where Redis has to
// follow ([Changes], [Follower]; rule 1, docs/architecture.md). An answer waits for Redis for up to three seconds. After
// that a change that gives or takes no unit, or gives some, is told as committed and not followed yet; one that takes
// units is [ErrUndecided], because Redis may still refuse it, and repeating it with the same key tells.
//
//	what fails                       what the admin is told, and what then happens
//	the ledger, before the commit    unavailable; nothing was changed
//	Redis, after the commit          not followed yet; the outbox goes on by itself
//	Redis, when units are to be taken  undecided; the outbox goes on, the same key tells the result
//	a rebuild comes between          what gives is in the rebuilt sale; what takes is void, and begun again here
//	fewer units are left             [InsufficientStockError] with how many; nothing was taken
//
// Who changed what is written down with each change, in its transaction ([Entry]).
//
// The package imports no framework. Adapters (sqlstore, redisstore, httpapi) depend on it, never the other way.
package voucher

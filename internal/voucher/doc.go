// Package voucher says what is sold, when, and how many: the vouchers of a shop, ordinary ones and seckill ones
// (offered in a limited number for a limited time), the rules that a new one must satisfy, and the service that
// creates and shows them.
//
// Authoritative is the ledger (MySQL): a voucher exists once its transaction there has committed, with both of its
// rows or with none. What Redis holds of a sale decides who gets in, but it is derived: a sale that is missing there
// (a crash between the commit and Redis, an emptied Redis) is rebuilt from the ledger by [order.Keeper], and until
// then the voucher is shown as [StatePreparing].
//
// The package imports no framework. Adapters (sqlstore, redisstore, httpapi) depend on it, never the other way.
package voucher

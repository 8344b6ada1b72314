// Package catalog caches vouchers in this instance, so that a purchase need not query the ledger: which vouchers are
// seckill ones, where their sales' keys are, and what else they say.
//
// The ledger is authoritative for vouchers, and Redis for the present state of a sale: the catalog decides no purchase.
// A sale that Redis holds is cached for an hour, and the reconciler renews it every second; any other voucher is cached
// for ten seconds. An id that does not exist is cached for a second, so that any number of callers with it cost one
// query a second (rule 13 of docs/architecture.md).
//
// What can go wrong, and what then happens:
//
//	the ledger is away               cached vouchers stay valid (rule 14); any other is ErrUnavailable
//	many ask for the same voucher    they share one query, which does not end with its first caller
//	a voucher is changed             instances notice within a second if Redis holds its sale, else within ten
package catalog

// Package catalog is what an instance remembers of vouchers, so that a purchase asks the ledger nothing: which are
// seckill ones, where the keys of their sales are, what they last were.
//
// The ledger is authoritative for vouchers, and Redis for what a sale does just now: the catalog decides about no
// purchase. A voucher is remembered for an hour, those on sale are refreshed every second by the reconciler, and an
// id that does not exist is remembered for a second, so that any number of callers with it cost one query a second
// (rule 13 of docs/architecture.md).
//
// What can go wrong, and what then happens:
//
//	the ledger is away               what is remembered stays valid (rule 14); an unknown voucher is ErrUnavailable
//	many ask for the same voucher    one query, for all of them, that does not end with its first caller
//	a voucher is changed             its instance forgets it; the others know within a second, if it is on sale
package catalog

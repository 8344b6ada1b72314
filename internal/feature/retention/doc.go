// Package retention deletes what one may not keep: orders of sales that are over (a purge), entries of the audit trail
// that are old, and who somebody was (forgetting). It also exports what is stored about one person.
//
// migrations.Tables says, for each table, what goes. What follows does it, in small transactions, children first:
//
//	Begin    the sale's first epoch becomes one above its epoch: whatever Redis or a backup still has of it is
//	         UNKNOWN_VOUCHER (voucher.Sale.Purged); the numbers of its waiting list are kept
//	batches  orders that owe nothing go, and in the same transaction their figures are added to tb_purge
//	End      nothing is left
//
// So the orders that are there and the figures of those that are gone are all orders at every moment, and reports stay
// true. The ledger is authoritative; Redis is not touched, as it has dropped a retired sale a day after its end.
//
// What can go wrong, and what then happens:
//
//	the process dies at any point        the same command, or the job, goes on: what is gone is gone, and counted
//	two purge at once                    the row of tb_purge serializes them; each deletes what the other left
//	an order owes something again        that order stays, with all that is its own, and is named; the next run tries
//	                                     it again
//	the ledger is restored from before   the orders are back, with their figures not yet added: purge again
//	Redis is restored from before        its claims are of an earlier epoch, and are recorded as failed
//	a version 1.0 is alive               nothing is purged or forgotten: order.ErrUpgrading
package retention

// Package recovery keeps every sale in Redis as the ledger says: it notices and rebuilds sales that are wrong, and
// retires those that are long over.
//
//	sweep, admission, recorder, outbox, auditor, reporter ──► RepairQueue ──► rebuild, or retire
//
//	Reconciler   sweeps all sales once a second and works through the repair queue (rebuild.go, round.go, retire.go)
//	RepairQueue  every sale that needs work, once: running sales first, ended ones last
//	Reporter     hands in this instance's recent accepts of a sale that is being rebuilt
//
// The ledger is authoritative for orders and stock; Redis is authoritative only for accepted orders that wait in the
// stream. A rebuild's epoch, raised in the ledger first, is its fencing token: after that, older rebuilds and instances
// with an older epoch change nothing. Locks only save work.
//
// What can go wrong, and what then happens:
//
//	Redis lost its tail, or everything   a mark below one seen before, or another run of the server, stops the sale;
//	                                     it is rebuilt, with the orders that instances remember
//	Redis restarts during a rebuild      the rebuild ends; the next one collects all reports anew
//	an instance is frozen during a round the rebuild goes on without it; it checks afterwards, and requests another
//	                                     rebuild if the first one missed its orders
//	two instances rebuild one sale       the higher epoch wins; the other stops with ErrSuperseded
//	the process dies during a rebuild    the sale stays stopped; the next sweep of any instance rebuilds it
//	a sale changes while it is retired   it is not retired; the next sweep looks again
//	a sale's keys hold nonsense          only that sale stands still; its rebuild removes unreadable data
//	a rebuild fails                      the sale stays in the queue and is retried after the next sweep; others
//	                                     go on
//	thousands of sales are wrong         running ones first; at most half of the work is on ended ones
package recovery

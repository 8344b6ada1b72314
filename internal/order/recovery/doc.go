// Package recovery keeps Redis holding every sale as the ledger says: it notices what is wrong, rebuilds it, and
// retires what is over.
//
//	sweep, admission, recorder, outbox, auditor, reporter ──► RepairQueue ──► rebuild, or retire
//
//	Reconciler   sweeps all sales once a second and works through the repair queue (rebuild.go, round.go, retire.go)
//	RepairQueue  every sale with which something is to be done, once: running sales first, ended ones last
//	Reporter     hands in what this instance accepted lately, for a sale that is being rebuilt
//
// The ledger is authoritative for orders and stock; Redis is authoritative only for accepted orders that wait in the
// stream. A rebuild's epoch, raised in the ledger first, is its fencing token: older rebuilds and older instances
// change nothing any more. Locks only save work.
//
// What can go wrong, and what then happens:
//
//	Redis lost its tail, or everything   a mark below one seen before, or another run of the server, stops the sale;
//	                                     it is rebuilt, with what instances remember
//	Redis restarts during a rebuild      the rebuild ends; the next one collects all reports anew
//	an instance is frozen during a round the rebuild goes on without it; it checks afterwards and requests another
//	                                     rebuild
//	two instances rebuild one sale       the higher epoch wins; the other stops with ErrSuperseded
//	the process dies during a rebuild    the sale stays stopped; the next sweep of any instance rebuilds it
//	a sale changes while it is retired   it is not retired; the next sweep looks again
//	a sale's keys hold nonsense          that sale stands still, and no other; its rebuild removes what cannot be read
//	a rebuild fails                      the sale stays in the queue and is tried again after the next sweep; others
//	                                     go on
//	thousands of sales are wrong         running ones first; ended ones take at most half of the places
package recovery

// Package audit checks, while sales run, that all units are accounted for, and gathers a sale's stats for people who
// watch it.
//
//	Auditor   goes round all sales: compares ledger, Redis and stream of one sale after the other (balance.go), and
//	          acts on proved findings
//	Suspects  sales whose units did not add up in a sweep; they are checked first
//	Monitor   the live stats of one sale, over all instances
//
// Nothing here is on the path of a purchase. The auditor changes nothing in the ledger: it requests rebuilds, and
// pauses a sale that would sell more than was issued.
//
// It compares three sums ([Balance]). It acts once two checks in a row find the same error:
//
//	Redis differs from the ledger, or accepted    the sale is rebuilt, at most every half minute; lost orders are
//	orders are in neither stream nor ledger       requeued
//	Redis has too many units after three rebuilds the sale is paused: something else writes there
//	the ledger has more units than were issued    the sale is paused
//	the ledger has fewer                          an error in the log and the metrics; nothing is oversold
//
// An operator corrects the ledger's row ("server reconcile" shows the numbers) and resumes the sale.
//
// What can go wrong, and what then happens:
//
//	a store is away                    the pass ends; the next one checks the remaining sales
//	one partition's node hangs         a pass makes one check there at most; the other partitions' sales are checked
//	                                   and acted on
//	one sale cannot be read            the others are checked; a metric says how long that sale was not checked
//	there are thousands of sales       a round takes longer, never more than a tenth of the time
//	a sale changes during the check    undecided, never wrong; two checks in a row must agree before anything is done
//	the ledger's own numbers disagree  an operator decides; the sale is paused if it would oversell
package audit

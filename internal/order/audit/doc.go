// Package audit checks, while sales run, that all units are accounted for, and gathers the stats of a sale for people who
// watch it.
//
//	Auditor  compares ledger, Redis and stream of each sale every few seconds (balance.go) and acts on what is proved
//	Monitor  the live stats of one sale, over all instances
//
// Nothing here is on the path of a purchase. The auditor changes nothing in the ledger: it requests rebuilds, and pauses
// a sale that would sell more than was issued.
//
// What can go wrong, and what then happens:
//
//	a store is away                    the round ends; what was not checked is checked by the next
//	a sale changes during the check    undecided, never wrong; two checks in a row must agree before anything is done
//	the ledger's own numbers disagree  an operator decides; the sale is paused if it would oversell
package audit

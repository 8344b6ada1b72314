// Package outbox brings sales in Redis up to the ledger (rule 1 of docs/architecture.md): it applies the numbered
// operations committed with changes of orders and with admins' changes of vouchers, in order and each once.
//
//	a step or a change ──► one transaction: the change, its history, an operation (pending)
//	      │
//	      └─ Flush or RequestFlush ──► pending operations ──► scripts/apply.lua ──► completed in the ledger:
//	Run, once a second: what is still pending                                       applied, or refused if it wants
//	                                                                                units that are not there
//
// The ledger is authoritative: a change holds once it is committed, whether Redis has it or not. For an operation that
// takes units, Redis first decides whether there are enough, and completing the operation writes the rest.
//
// What can go wrong, and what then happens:
//
//	Redis is away after a cancel     the order is cancelled; its unit is sold again once a flush gets through
//	an instance dies before a flush  the operation is pending; any outbox finds it within a second
//	an operation is applied twice    it counts once: Redis knows the last number, the ledger the completed ones
//	Redis lost operations            the next one leaves a gap, or a check finds it behind: the sale is reported for
//	                                 repair
//	a rebuild meets pending ones     it contains those that give units; those that take units are void, and requested
//	                                 anew
//	the ledger lacks units that      the ledger completes the operation as refused, and the sale is reported for
//	Redis gave                       repair
package outbox

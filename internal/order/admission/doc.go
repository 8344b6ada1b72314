// Package admission decides who gets a unit of a sale. Redis decides, by scripts/seckill.lua; this package brings
// requests to it in batches, answers from memory where that is certain to be right, and remembers what it was told.
//
//	Admission.Admit ──► too early? sold out? answered from memory (observation, soldOutCache)
//	      │
//	      └──► batcher of the sale: one call of the script at a time, of up to 256 requests (package batch)
//	                │
//	                └──► outcome for each request; recentAccepts; outcomeCounts ──► StatsFlusher
//
// Redis is authoritative for who is accepted, from the call on; the ledger for everything after. What this package
// keeps is a memory that ends: an observation after a second, the winners of a sold-out sale with the sale's mark,
// recent accepts after a minute. The rules are numbered in docs/architecture.md.
//
// What can go wrong, and what then happens:
//
//	the script's answer is lost      the identical batch is sent once more; what is open still is ErrUnknownOutcome
//	                                 (rule 3)
//	Redis does not answer at all     the requests of the call: ErrUnknownOutcome; those behind it: ErrUnavailable,
//	                                 at once
//	Redis becomes slow               a request that would wait for more than five seconds: ErrUnavailable, at once
//	a buyer gives up                 before the call: certainly not sent; during it: ErrUnknownOutcome
//	the process dies after the call  the order is in the stream; any instance records it
//	Redis lost its tail or all       a lower mark than one seen shows it; the sale stops and is reported for repair,
//	                                 and recent accepts bring back what only this instance remembers
//	the winners cannot be read       all ask Redis until they are
//	counts cannot be shared          they are added a second later, unless they may have been added already
package admission

// Package admission decides who gets a unit of a sale. The decision is made in Redis, by scripts/seckill.lua. This
// package sends it requests in batches, answers from memory when it is certain of the answer, and remembers Redis's
// answers.
//
//	Admission.Admit ──► too early? sold out? answered from memory (observation, soldOutCache)
//	      │
//	      └──► batcher of the partition: a line for each sale, which take turns (queue); two calls of the script at a
//	                │                time, each of up to 256 requests for up to 64 sales
//	                │
//	                └──► outcome for each request; recentAccepts; outcomeCounts ──► StatsFlusher
//
// Redis is authoritative for who is accepted, the ledger for everything after that. This package's memory expires: an
// observation after a second, the winners of a sold-out sale when its mark changes, recent accepts after a minute. The
// rules are numbered in docs/architecture.md.
//
// What can go wrong, and what then happens:
//
//	the script's answer is lost      the identical call is sent once more; requests still open: ErrUnknownOutcome
//	                                 (rule 3)
//	Redis does not answer at all     requests in the call: ErrUnknownOutcome; all that wait in the partition:
//	                                 ErrUnavailable, at once
//	one sale of a call fails         it is repeated without the others, once; then its requests alone are refused, and
//	                                 those that wait behind them
//	Redis becomes slow               requests that would wait for over five seconds: ErrUnavailable, at once
//	a buyer gives up                 before the call: certainly not sent; during it the request waits for the answer,
//	                                 two seconds at most, then ErrUnknownOutcome. The calls of a partition have room
//	                                 for 512 requests, so that thousands who hang up hold no more permits
//	the process dies after the call  the order is in the stream; any instance records it
//	Redis lost its tail or all       a lower mark than one seen shows it; the sale stops and is reported for repair,
//	                                 and recent accepts bring back what only this instance remembers
//	the winners cannot be read       every request goes to Redis until they can
//	counts cannot be shared          they are added a second later, unless the failed call may have added them
package admission

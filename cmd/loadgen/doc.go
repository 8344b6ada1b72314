// Loadgen rehearses a sale. Buyers arrive on a curve, whether the service keeps up or not, buy, and retry when the
// answer asks for it. At the end loadgen compares every answer with the service's orders. See docs/rehearsal.md;
// loadgen --help lists the flags.
//
//	plan ──► arrivals (curve) ─┐
//	                           ├─► requests by due time ──► connections ──► classify ──► record
//	        retries, purchases ┘                                               │            │
//	              └────────────────────────────────────────────────────────────┘            ▼
//	                                 verify: owners' orders, list of all orders, stock ──► checker
//
// Latency counts from the time when a request was due, not from when a connection was free for it: a server that
// stalls is charged with all buyers who arrived meanwhile (leaving them out is what HdrHistogram calls "coordinated
// omission").
//
// The record (an entry of 40 bytes for each answer) is authoritative for the answers; the checker decides what
// contradicts it. At the end the checker needs another 100 bytes for each buyer.
package main

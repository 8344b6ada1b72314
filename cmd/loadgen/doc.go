// Loadgen rehearses a sale. Buyers arrive on a curve, whether or not the service keeps up; they buy, and retry when the
// answer asks for it. At the end loadgen compares every answer with the service's orders. See "Rehearsing a
// sale" in docs/operations.md; loadgen --help lists the flags.
//
//	plan ──► arrivals (curve) ─┐
//	                           ├─► requests by due time ──► connections ──► classify ──► record
//	        retries, purchases ┘                                               │            │
//	              └────────────────────────────────────────────────────────────┘            ▼
//	                                 verify: owners' orders, list of all orders, stock ──► checker
//
// Latency counts from when a request was due, not from when a connection was free for it. So a server that stalls is
// charged for all buyers who arrived meanwhile. (Leaving them out is what HdrHistogram calls "coordinated omission".)
//
// The record (40 bytes for each answer) is authoritative for the answers; the checker decides what contradicts it. At
// the end the checker needs another 100 bytes for each buyer.
package main

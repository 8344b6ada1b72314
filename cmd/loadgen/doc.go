// Loadgen rehearses a sale: it is the crowd. Buyers come as a curve says, whether the service keeps up or not, press the
// button, ask again when they are told to, and at the end it compares what every one of them was told with what the
// service then says of every order. docs/rehearsal.md tells how to use it; loadgen --help lists its flags.
//
//	plan ──► arrivals (curve) ─┐
//	                           ├─► due, in order of time ──► connections ──► judge ──► record
//	         again after a while ┘                                            │          │
//	                                                                          ▼          ▼
//	                                    verify: owners' lookups, list of all orders, stock ──► checker
//
// Latency counts from the moment when a request was due, not from when a connection was free for it: a server that stalls
// is charged with everybody who came meanwhile ("coordinated omission", HdrHistogram's term for leaving that out).
//
// The record (one entry of 40 bytes for each answer) is authoritative for what buyers were told; the checker decides
// what contradicts it. For each buyer there is besides, at the end, one entry in the checker: about 100 MB for a million.
package main

// Package wiring opens the configured stores and wires the core and the features to them, for the serving process and
// for commands that work beside it. The ledger is authoritative. A command opens it with the same hooks as a serving
// process, so that its writes have the same consequences.
//
// Only the start can go wrong: it waits for a store that does not answer, but not for a store that refuses (Open), and
// it never touches data of another format or installation (Stores.TakePartitions).
package wiring

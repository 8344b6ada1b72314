// Package wiring opens the stores that the settings name, and wires the core and the features to them: for the process
// that serves, and for commands that work beside it. The ledger is authoritative; a command opens it with the same
// hooks as a serving process, so that what it writes has the same consequences.
//
// What can go wrong is the start: a store that does not answer is waited for, one that refuses is not (Open), and
// data of another format or installation is never touched (Stores.TakePartitions).
package wiring

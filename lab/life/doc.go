// Package life tests the whole life of orders against a model: random interleavings of buying, recording, paying,
// late payments, cancelling, expiring, refunding, redeeming, lapsing, waiting for what comes back, accepting and
// passing on, restocking, pausing, crashes and redelivery, for several users on a small stock, with orders of one to
// three units, against a real Redis and a real MariaDB, with calls that do not arrive or whose answers are lost.
// Whenever the world is quiescent, the invariants of docs/reliability.md must hold, and webhooks have been told each
// step of each order once.
//
// The service's parts are wired as cmd/server wires them. Wrappers between them and the stores inject the faults. A
// killed process no longer reaches the stores; the next one takes over its entries.
package life

// Package life tests the whole life of orders against a model: random interleavings of buying, recording, paying, late
// payments, cancelling, expiring, refunding, redeeming, lapsing, waiting for units that come back, accepting and
// passing on, restocking, pausing, calling off, what staff do, crashes and redelivery. Several users buy from a small
// stock, in orders of one to three units, with a real Redis and a real MariaDB, and with calls that do not arrive or
// whose answers are lost. Whenever the world is quiescent, the invariants of docs/reliability.md must hold, and
// webhooks must have been sent each step of each order once.
//
// TestLedgerGoesBack has a part of that happen while the ledger goes back to earlier moments, as in a failover to a
// server that lagged behind: nothing is sold that was taken off sale, and the core of the invariants holds.
//
// The service's parts are wired as in cmd/server. Wrappers between them and the stores inject the faults. A killed
// process no longer reaches the stores; the next one takes its entries over.
package life

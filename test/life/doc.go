// Package life tests the whole life of orders as a model: random interleavings of buying, recording, paying, late paying,
// cancelling, closing, refunding, restocking, pausing, crashes and redelivery, for several users on a small stock, against a
// real Redis and a real MariaDB, with calls that are lost or whose answers are. Whenever everything has come to rest, the
// invariants of docs/architecture.md must hold.
//
// The service's own parts are wired as cmd/server wires them; between them and the stores stands a fate that decides what
// befalls a call. A process that is killed hears and says nothing any more; the next one takes over its entries.
package life

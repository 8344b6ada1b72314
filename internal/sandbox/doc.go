// Package sandbox is a payment provider for trying things out: it has the shape of a real one and moves no money.
//
//	POST /order/:id/pay      Provider.Begin: a payment of the order's amount, and the address where to pay
//	the buyer opens it       Pages: shows the amount, and a button
//	he presses the button    Pages sends a signed callback to the service, over HTTP, as a real provider would
//	POST /payment/callback   Notices.Read checks signature and age, and says what was paid
//
// Whoever connects a real provider writes a package like this one: an order.Provider, and something that reads its
// callbacks. The rest of the service does not change.
//
// # What is authoritative, and what can go wrong
//
// The provider keeps nothing: what a payment is stands, signed, in the address where it is paid, so any instance can show
// it, also after a restart. What became of a payment is known to the service's ledger alone.
//
// A callback is signed with HMAC-SHA-256 over its time and body (the header Payment-Signature, "t=<seconds since 1970>,
// v1=<hex>"); one that is older than five minutes, or from the future by as much, is refused, so that one that was
// overheard is of no use later. Within those minutes it can be repeated, which changes nothing: callbacks are idempotent.
// A callback that fails is repeated a few times; then the page says so and the buyer may press again. A refund sends
// nothing back, because nothing was received; it only says that it did.
package sandbox

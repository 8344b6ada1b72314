// Package sandbox is a payment provider for trying things out: it has the shape of a real one and moves no money.
//
//	POST /order/:id/pay      Provider.Begin: a payment of the order's amount, and the address where to pay it
//	the buyer opens it       Pages: shows the amount, and a button
//	the buyer presses it     Pages sends a signed callback to the service, over HTTP, as a real provider would
//	POST /payment/callback   Notices.Read checks signature and age, and returns which payment was made
//
// To connect a real provider, write a package like this one: a service.Provider, and a reader of the provider's
// callbacks (docs/coupons.md#paying). The rest of the service does not change.
//
// # What is authoritative, and what can go wrong
//
// The provider stores nothing: a payment's data is in its signed address, so any instance can show it, even after a
// restart. Only the service's ledger has the state of a payment.
//
// A callback is signed with HMAC-SHA-256 over its time and body (the header Payment-Signature, "t=<seconds since 1970>,
// v1=<hex>"). A callback older than five minutes, or as far in the future, is refused, so that a captured one soon
// becomes useless. Repeating it earlier changes nothing: callbacks are idempotent. A failed callback is retried a few
// times; then the page says so, and the buyer may press again. A refund is only logged: no money was received, so none
// can be sent back. So that a shop can try each case, the page has a button for every other notice that a provider may
// send; the refund of an amount that ends in 13 cents is refused for good, and one that ends in 17 is pending until
// somebody presses a button on the payment's page.
package sandbox

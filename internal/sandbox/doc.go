// Package sandbox is a payment provider for trying things out: it has the shape of a real one and moves no money.
//
//	POST /order/:id/pay      Provider.Begin: a payment of the order's amount, and the address where to pay
//	the buyer opens it       Pages: shows the amount, and a button
//	they press the button    Pages sends a signed callback to the service, over HTTP, as a real provider would
//	POST /payment/callback   Notices.Read checks signature and age, and returns what was paid
//
// To connect a real provider, write a package like this one: a service.Provider, and a reader of its callbacks
// (docs/payments.md). The rest of the service does not change.
//
// # What is authoritative, and what can go wrong
//
// The provider stores nothing: a payment's data are in the address where it is paid, signed, so any instance can show
// it, also after a restart. The state of a payment is in the service's ledger alone.
//
// A callback is signed with HMAC-SHA-256 over its time and body (the header Payment-Signature, "t=<seconds since
// 1970>, v1=<hex>"); one that is older than five minutes, or from the future by as much, is refused, so that a
// captured one is useless later. Within those minutes it can be repeated, which changes nothing: callbacks are
// idempotent. A callback that fails is retried a few times; then the page shows that and the buyer may press again. A
// refund sends nothing back, because nothing was received; it is only logged.
package sandbox

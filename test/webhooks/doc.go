// Package webhooks tests the delivery of webhooks from the transaction that changes an order to a receiver, which
// looks at what comes: each event at least once, its signature, and one order's events in their order. The receiver
// is down, slow, answers 500, or is killed; instances share the work and are stopped; an hour passes by an injected
// clock, and with make -C lab webhooks-outage ten real minutes.
package webhooks

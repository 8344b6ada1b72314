// Package webhooks tests the delivery of webhooks, from the transaction that changes an order to a receiver. The
// receiver checks that each event arrives at least once, its signature, and the order of one order's events. It may be
// down, slow, answer 500, or be killed; instances share the work and are stopped; an hour passes by an injected clock,
// and with make -C lab webhooks-outage ten real minutes.
package webhooks

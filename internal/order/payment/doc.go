// Package payment says what a payment of an order is: its states, the notices that providers send about it, and what
// has happened to its money. A provider's notices may come repeatedly and in any order: Flow.After makes the same of
// them.
package payment

// Package webhook tells other programs of changes of orders and on waiting lists: its hook in the ledger writes
// an event for each, and its jobs send them. Package dispatch says what is promised, and how an event gets to its
// endpoint.
package webhook

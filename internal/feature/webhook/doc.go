// Package webhook notifies other programs of changes of orders and waiting lists. Its hook in the ledger writes an
// event for each change, and its jobs send the events. Package dispatch documents its promises, and how an event gets
// to its endpoint.
package webhook

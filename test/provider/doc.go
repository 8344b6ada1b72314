// Package provider connects a second payment provider, as a shop would connect a real one: a bank with ids of its
// own, a signature of its own, and money that it sends back by the id of the charge. It is an example beside
// internal/sandbox, and a test that payments stay with the provider they began with: on a real ledger, through the
// real routes.
package provider

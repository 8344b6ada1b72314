// Package provider connects a second payment provider, as a shop would connect a real one: a bank with its own payment
// ids, its own signature, and refunds by the charge's id. It is an example beside internal/sandbox. It also tests, on a
// real ledger and through the real routes, that a payment stays with the provider it began with.
package provider

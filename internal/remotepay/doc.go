// Package remotepay speaks to payment providers that are programs of their own: docs/coupons.md says what one does, and
// web/provider.yaml describes each call and notice. The service holds no keys of a payment company, only a secret
// that it shares with the program, with which both sign (Standard Webhooks).
//
// The ledger is authoritative for payments; the program, or the company behind it, for the money. A program that hangs,
// lies or answers nonsense costs the callers who wait for it and nobody else: each provider has permits of its own, a
// call and its answer have bounds, and whatever is not a clear answer is an error after which the service asks again.
// An operator names the address, but a name may lead elsewhere one day: addresses are checked as for webhooks when they
// are dialled, redirects are not followed, and no proxy of the environment is used.
package remotepay

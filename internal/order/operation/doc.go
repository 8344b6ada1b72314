// Package operation defines the operations of a sale: numbered changes that the ledger has committed and that Redis
// must apply. The ledger is authoritative: an operation that Redis has not applied stays pending, and package outbox
// sends it again until it is applied, or until a rebuild of the sale includes it.
package operation

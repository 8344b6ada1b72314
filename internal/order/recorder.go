package order

import (
	"context"
	"time"
)

// Queue is one partition's stream as one consumer of its group sees it.
type Queue interface {
	// Own returns up to n entries that were delivered to this consumer and not settled, behind the entry with the key
	// after ("" for the first).
	Own(ctx context.Context, after string, n int) ([]Entry, error)
	// Next returns up to n new entries, waiting at most wait for the first; none is no error. A group that does not
	// exist is created at the stream's beginning.
	Next(ctx context.Context, n int, wait time.Duration) ([]Entry, error)
	// Orphans takes over up to n entries of consumers that have stopped beating, and removes the dead ones that have
	// none left.
	Orphans(ctx context.Context, n int) ([]Entry, error)
	// Settle acknowledges and deletes entries, both or neither, and returns how many were still this group's.
	Settle(ctx context.Context, keys []string) (int, error)
	// Bury moves an entry that cannot be decoded to the dead letters and settles it, in one step.
	Bury(ctx context.Context, e Entry) error
}

// Membership is a consumer's place in the group.
type Membership interface {
	// Beat says that the consumer lives; without it for some seconds its entries are taken over.
	Beat(ctx context.Context) error
	// Leave removes the consumer if nothing is pending for it, atomically.
	Leave(ctx context.Context) error
}

// Ledger records orders: MySQL, or SQLite in the embedded mode. Errors are ErrConflict, ErrRejected, or anything
// else, which is the infrastructure's fault and says nothing about the batch, not even that it was not written.
type Ledger interface {
	// Insert records all claims as unpaid orders and lowers their sales' stock, in one transaction. It returns
	// ErrConflict when a row exists, stock is too low, or an epoch is not the sale's.
	Insert(ctx context.Context, claims []Claim) error
	// Settle locks the sales' rows, reads what the ledger holds of the claims, lets decide say what becomes of each,
	// and writes that, in one transaction. An error of decide is returned and rolls back.
	Settle(ctx context.Context, claims []Claim, decide func(LedgerView) ([]Decision, error)) error
}

// Places corrects buyers' places in Redis after the ledger decided otherwise.
type Places interface {
	// Correct applies returns, each only while the user's place is held by the order it names, so that repeating is
	// harmless.
	Correct(ctx context.Context, returns []Return) error
}

package order

import "context"

// Gate lets applicants into a sale: scripts/seckill.lua in Redis.
type Gate interface {
	// Admit runs the admission script once, without a retry of its own. Repeating the identical batch is safe and
	// answers the same. An error that wraps ErrUnavailable says that the batch certainly had no effect; after any
	// other error it may have had one.
	Admit(ctx context.Context, b Batch) (Verdict, error)
}

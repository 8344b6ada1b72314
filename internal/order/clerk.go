package order

import "context"

// Books are the lives of recorded orders: the ledger.
type Books interface {
	// Move takes the order one step, with a line of history and, when its unit goes back on sale, an operation, in one
	// transaction. owner 0 is anybody's. ErrNotFound when the order is not there or somebody else's; *StateError when the
	// step is not possible. It returns the order as it is then.
	Move(ctx context.Context, orderID, owner int64, action Action, by Actor, why string) (Order, error)
	// History returns what happened to the order since it was recorded, oldest first.
	History(ctx context.Context, orderID int64) ([]Event, error)
	// Find returns orders that the filter lets through, with an id below before, newest first, at most limit.
	Find(ctx context.Context, f Filter, before int64, limit int) ([]Order, error)
}

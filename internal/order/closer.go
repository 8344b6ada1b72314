package order

import "context"

// DueOrders are the unpaid orders whose payment deadline has passed, by the ledger's clock.
type DueOrders interface {
	// CloseDue closes up to n of them, the longest overdue first, in one transaction: Close, with history and, for
	// seckill orders, operations. It returns ErrSuperseded, having changed nothing, when a higher token than the given one
	// has been used. It returns the orders that it closed, as they now are; fewer than n when no more are due.
	CloseDue(ctx context.Context, token int64, n int) ([]Order, error)
}

// FencedLocker lets one instance at a time do a thing, and numbers the turns.
type FencedLocker interface {
	// TryDoFenced runs f under the lock with the name, with a token that is higher than every one before; ErrBusy, at once,
	// when another holds it. f's context ends when the lock is lost.
	TryDoFenced(ctx context.Context, name string, f func(ctx context.Context, token int64) error) error
}

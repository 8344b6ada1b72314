package order

import "context"

// Rows reads recorded orders: the ledger.
type Rows interface {
	// Order returns one order, or ErrNotFound.
	Order(ctx context.Context, id int64) (Order, error)
	// OrdersOf returns a user's orders with an id below before, newest first, at most limit, and how many he has in all.
	OrdersOf(ctx context.Context, userID, before int64, limit int) ([]Order, int64, error)
	// LiveOrder returns the user's live order for a seckill voucher, or ErrNotFound.
	LiveOrder(ctx context.Context, key BuyerKey) (Order, error)
	// Recorded returns the status of those of the ids that have a row.
	Recorded(ctx context.Context, ids []int64) (map[int64]Status, error)
}

// Held answers who holds which place in Redis.
type Held interface {
	// HeldBy returns the user's order id in each of the sales, 0 where he has none, in one round trip.
	HeldBy(ctx context.Context, userID int64, sales []SaleRef) ([]int64, error)
}

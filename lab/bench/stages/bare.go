package stages

import (
	"context"
	"sync/atomic"
	"time"

	"seckill/internal/order"
)

// yes accepts every request and does nothing. The difference between another stage and this one is the cost of a
// purchase.
type yes struct{ last atomic.Int64 }

func (y *yes) Buy(_ context.Context, userID, voucherID int64, _ time.Duration) (order.Order, error) {
	// As many digits as a real order id.
	id := 5e17 + y.last.Add(1)
	return order.Order{ID: id, UserID: userID, VoucherID: voucherID, Status: order.Queued}, nil
}

package httpkit

import (
	"context"
	"time"

	"seckill/internal/order"
)

// Front is what the core's interface gives to features' routes.
type Front struct {
	Bodies  Bodies
	Streams *Streams
	Now     func() time.Time
	// Orders answers with recorded orders as GET /admin/order does: those that the filter selects, with an id below
	// before, newest first, at most n. order.ErrUnavailable.
	Orders func(ctx context.Context, f order.Filter, before int64, n int) (Envelope, error)
}

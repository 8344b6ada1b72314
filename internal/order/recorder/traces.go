package recorder

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/kit/trace"
	"seckill/internal/order"
)

// followed returns ctx for the work on entries, some of which may be followed.
func followed(ctx context.Context, entries []order.Entry) context.Context {
	var of map[int64]trace.Parent
	for _, e := range entries {
		if e.Trace == "" {
			continue
		}
		if of == nil {
			of = make(map[int64]trace.Parent)
		}
		of[e.Claim.OrderID] = e.Trace
	}
	if of == nil {
		return ctx
	}
	return trace.WithEach(ctx, of)
}

// logFollowed logs that the ledger has the orders that are followed.
func logFollowed(ctx context.Context, log *slog.Logger, entries []order.Entry, took time.Duration) {
	for _, e := range entries {
		if e.Trace != "" {
			log.InfoContext(ctx, "an order is recorded", "trace_id", e.Trace.ID(), "order", e.Claim.OrderID,
				"user", e.Claim.UserID, "voucher", e.Claim.VoucherID, "took", took)
		}
	}
}

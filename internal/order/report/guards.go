package report

import (
	"context"
	"time"

	"seckill/internal/guard"
	"seckill/internal/order"
)

// guardsWithin is how long the figures of guards may take: a report does not wait for a Redis that hangs.
const guardsWithin = 500 * time.Millisecond

// GuardFigures has what instances counted of sales' guards: Redis, which keeps it for some weeks.
type GuardFigures interface {
	// GuardFigures returns what all instances have counted of a sale's guards; nothing, where nothing was counted.
	GuardFigures(ctx context.Context, sale order.SaleRef) (guard.Figures, error)
}

// addGuards adds what the sale's guards did. It is the one part of a report that the ledger does not have, and the
// report does without it.
func (r *Reports) addGuards(ctx context.Context, made *Report) {
	ctx, cancel := context.WithTimeout(ctx, guardsWithin)
	defer cancel()
	figures, err := r.guards.GuardFigures(ctx, order.SaleOf(made.Voucher))
	made.Guards, made.GuardsUnread = figures, err != nil
}

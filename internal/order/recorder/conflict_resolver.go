package recorder

import (
	"context"

	"seckill/internal/order"
)

// conflictResolver settles claims one by one, according to what the ledger holds of them.
type conflictResolver struct{ ledger Ledger }

// settle returns the decision that was written for each claim, and the sales as the ledger had them. If rejected is not
// nil, it is why the ledger refuses the only claim for good, and the claim becomes a failed order.
func (r conflictResolver) settle(
	ctx context.Context, claims []order.Claim, rejected error,
) (decisions []order.Decision, sales map[int64]order.LedgerSale, err error) {
	err = r.ledger.Settle(ctx, claims, func(view order.LedgerView) []order.Decision {
		sales = view.Sales
		if rejected != nil {
			decisions = reject(claims[0], view, rejected)
		} else {
			decisions = resolve(claims, view)
		}
		return decisions
	})
	return decisions, sales, err
}

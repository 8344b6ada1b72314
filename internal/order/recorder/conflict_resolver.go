package recorder

import (
	"context"

	"seckill/internal/order"
)

// conflictResolver settles claims one by one, from what the ledger holds of them.
type conflictResolver struct{ ledger Ledger }

// settle returns what was decided and written for each of the claims, and the sales as the ledger had them. With
// rejected, the only claim is one that the ledger rejects for that reason: it becomes a failed order.
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

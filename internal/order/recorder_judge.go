package order

import (
	"context"
	"errors"
)

// judge has the ledger decide about claims one by one.
type judge struct {
	ledger Ledger
	ids    IDs
}

// decide returns what was decided and written about each of the claims, and the sales as the ledger had them. A claim
// that the ledger has rejected stands alone and is to fail.
func (j judge) decide(ctx context.Context, claims []Claim, rejected error) (decisions []Decision, sales map[int64]LedgerSale, err error) {
	var spare []int64
	for {
		err := j.ledger.Settle(ctx, claims, func(view LedgerView) ([]Decision, error) {
			sales = view.Sales
			var err error
			if rejected != nil {
				decisions, err = reject(claims[0], view, spare, rejected)
			} else {
				decisions, err = settle(claims, view, spare)
			}
			return decisions, err
		})
		if !errors.Is(err, errNeedIDs) {
			return decisions, sales, err
		}
		id, err := j.ids.Next(ctx)
		if err != nil {
			return nil, sales, err
		}
		spare = append(spare, id)
	}
}

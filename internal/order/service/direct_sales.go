package service

import (
	"context"
	"errors"
	"fmt"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
)

// DirectSales sells ordinary vouchers: at any time, and as many to a user as each voucher allows.
type DirectSales struct {
	ledger OrderLedger
	ids    order.IDs
}

// NewDirectSales returns direct sales recorded in the ledger.
func NewDirectSales(ledger OrderLedger, ids order.IDs) *DirectSales {
	return &DirectSales{ledger: ledger, ids: ids}
}

// Buy buys one ordinary voucher for the user, once for each key, and returns the order, which is unpaid unless it costs
// nothing. Errors: voucher.ErrNotFound, voucher.ErrOffShelf, ErrSeckill, idempotency.ErrReused, idempotency.ErrGone,
// *order.LimitError, ErrUnavailable (nothing was bought), ErrUnknownOutcome. After ErrUnknownOutcome, a call with the
// same key shows for certain what happened; without a key, the user's list of orders does.
func (s *DirectSales) Buy(ctx context.Context, userID, voucherID int64, key idempotency.Key) (order.Order, error) {
	id, err := s.ids.Next(ctx)
	if err != nil {
		return order.Order{}, fmt.Errorf("%w: no order id: %w", order.ErrUnavailable, err)
	}
	o, err := s.ledger.RecordDirectSale(ctx, id, userID, voucherID, key)
	if err == nil || errors.Is(err, order.ErrUnavailable) {
		return o, err
	}
	if err := order.OrUnavailable(err); !errors.Is(err, order.ErrUnavailable) && !errors.Is(err,
		order.ErrUnknownChange) {
		return order.Order{}, err
	}
	return order.Order{}, fmt.Errorf("%w: order %d: %w", order.ErrUnknownOutcome, id, err)
}

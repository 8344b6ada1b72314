package sqlstore

import (
	"context"
	"fmt"

	"seckill/internal/order"
)

// VouchersPerSearch is how many vouchers one search compares.
const VouchersPerSearch = vouchersPerSearch

// Setting asks a connection of the store's pool for one value.
func Setting(ctx context.Context, s *Store, expression string) (value string, err error) {
	err = s.db.Pool().QueryRowContext(ctx, "SELECT "+expression).Scan(&value)
	return value, err
}

// Order returns one order, or order.ErrNotFound.
func (s Orders) Order(ctx context.Context, id int64) (order.Order, error) {
	orders, err := s.OrdersByID(ctx, []int64{id})
	if err != nil {
		return order.Order{}, err
	}
	o, has := orders[id]
	if !has {
		return o, fmt.Errorf("order %d: %w", id, order.ErrNotFound)
	}
	return o, nil
}

package order

import (
	"context"
	"errors"
	"fmt"
)

// OpenSales records purchases of ordinary vouchers: the ledger.
type OpenSales interface {
	// Place records an unpaid order of an ordinary voucher, once for each key of the user; "" is no key. When the key was
	// used before it returns the order of then, and ErrKeyReused if that was for another voucher. It returns
	// voucher.ErrNotFound, ErrOffShelf, or ErrSeckill for a voucher that has a sale.
	Place(ctx context.Context, orderID, userID, voucherID int64, key string) (Order, error)
}

// Storefront sells ordinary vouchers: freely, any number of times.
type Storefront struct {
	sales OpenSales
	ids   IDs
}

// NewStorefront returns a storefront.
func NewStorefront(sales OpenSales, ids IDs) *Storefront {
	return &Storefront{sales: sales, ids: ids}
}

// Buy buys one ordinary voucher for the user, once for each key; "" is no key. It returns the unpaid order;
// voucher.ErrNotFound, voucher.ErrOffShelf, ErrSeckill or ErrKeyReused; ErrUnavailable when nothing was bought; or
// ErrUnknownOutcome when that is not known. Repeating the call with the same key is then the definitive question; without
// a key, the user's list of orders is.
func (s *Storefront) Buy(ctx context.Context, userID, voucherID int64, key string) (Order, error) {
	id, err := s.ids.Next(ctx)
	if err != nil {
		return Order{}, fmt.Errorf("%w: no order id: %w", ErrUnavailable, err)
	}
	o, err := s.sales.Place(ctx, id, userID, voucherID, key)
	if err == nil || errors.Is(err, ErrUnavailable) {
		return o, err
	}
	if told := orUnavailable(err); !errors.Is(told, ErrUnavailable) {
		return Order{}, told
	}
	return Order{}, fmt.Errorf("%w: order %d: %w", ErrUnknownOutcome, id, err)
}

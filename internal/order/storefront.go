package order

import "context"

// OpenSales records purchases of ordinary vouchers: the ledger.
type OpenSales interface {
	// Place records an unpaid order of an ordinary voucher, once for each key of the user; "" is no key. When the key was
	// used before it returns the order of then, and ErrKeyReused if that was for another voucher. It returns
	// voucher.ErrNotFound, ErrOffShelf, or ErrSeckill for a voucher that has a sale.
	Place(ctx context.Context, orderID, userID, voucherID int64, key string) (Order, error)
}

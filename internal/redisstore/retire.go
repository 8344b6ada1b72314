package redisstore

import (
	"context"

	"seckill/internal/order"
)

// longestScan is how long a stream may be for Drop to look through it.
const longestScan = 1000

// Drop deletes the sale and its places if it is over, unchanged since view, and no entry of it is in the stream, and
// reports whether they are gone. A stream that has not drained keeps the sale: there is no hurry.
func (s *Store) Drop(ctx context.Context, sale order.SaleRef, view order.SaleView) (bool, error) {
	keys := []string{s.keys.sale(sale), s.keys.buyers(sale), s.keys.orders(sale.Partition)}
	gone, err := s.scripts.drop.runInt(ctx, s.commands, keys,
		sale.VoucherID, view.Mark.Epoch, view.Mark.Sequence, view.Applied, longestScan)
	return gone == 1, err
}

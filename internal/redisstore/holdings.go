package redisstore

import (
	"context"
	"fmt"

	"seckill/internal/order"
)

// Holdings counts what Redis holds of the sale, at one moment. It looks through the stream for the sale's entries, so a
// long one is not counted: its entries are order.TooMany then.
func (s *Store) Holdings(ctx context.Context, sale order.SaleRef) (order.Holdings, error) {
	keys := []string{s.keys.sale(sale), s.keys.buyers(sale), s.keys.orders(sale.Partition), s.keys.dead(sale.Partition)}
	raw, err := s.scripts.holdings.run(ctx, s.commands, keys, sale.VoucherID, longestScan)
	if err != nil {
		return order.Holdings{}, fmt.Errorf("counting the sale of voucher %d: %w", sale.VoucherID, err)
	}
	r := newReply(raw)
	h := order.Holdings{Mode: modeOf(r.text())}
	h.Mark = order.Mark{Epoch: r.number(), Sequence: r.number()}
	h.Stock, h.Places, h.Applied, h.Waiting, h.Letters = r.number(), r.number(), r.number(), r.number(), r.number()
	return h, r.err
}

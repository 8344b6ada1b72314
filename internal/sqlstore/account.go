package sqlstore

import (
	"context"
	"fmt"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Account implements order.Accounts. One statement sees one moment, subqueries included. It walks the voucher's orders by
// their index: a million of them take about a second, and hold up nobody.
func (s *Store) Account(ctx context.Context, voucherID, applied int64) (order.Account, error) {
	var rows []struct {
		Stock, Issued, Epoch, Sequence, LastOperation, Live, Pending, Ahead, Open int64
	}
	err := s.read(ctx).Raw("SELECT s.stock, s.issued, s.epoch, s.sequence, s.last_operation, "+
		"(SELECT COUNT(*) FROM tb_voucher_order o WHERE o.voucher_id = s.voucher_id AND o.live = 1) AS live, "+
		"(SELECT COUNT(*) FROM tb_voucher_operation p WHERE p.state = @pending AND p.voucher_id = s.voucher_id) AS pending, "+
		// What a later operation gave is in the ledger since it was committed, what it took since it was applied.
		"(SELECT COALESCE(SUM(p.delta), 0) FROM tb_voucher_operation p WHERE p.voucher_id = s.voucher_id AND p.number > @applied "+
		"AND p.kind = @restock AND (p.delta > 0 OR p.state = @done)) AS ahead, "+
		"(SELECT COUNT(*) FROM tb_voucher_operation p WHERE p.state = @pending AND p.voucher_id = s.voucher_id "+
		"AND p.number <= @applied AND p.kind = @restock AND p.delta < 0) AS open "+
		"FROM tb_seckill_voucher s WHERE s.voucher_id = @voucher",
		map[string]any{
			"pending": operationPending, "done": operationApplied, "restock": order.Restock, "applied": applied, "voucher": voucherID,
		}).Scan(&rows).Error
	what := fmt.Sprintf("the account of voucher %d", voucherID)
	switch {
	case err != nil:
		return order.Account{}, readError("reading "+what, err)
	case len(rows) == 0:
		return order.Account{}, fmt.Errorf("%s: %w", what, voucher.ErrNotSeckill)
	}
	r := rows[0]
	return order.Account{
		Mark: order.Mark{Epoch: r.Epoch, Sequence: r.Sequence}, Operation: r.LastOperation, Stock: r.Stock, Issued: r.Issued,
		Live: r.Live, Pending: r.Pending, Ahead: r.Ahead, Open: r.Open,
	}, nil
}

package sqlstore

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/order"
)

// noUnitForLate is what the history says of a late payment that finds no unit.
const noUnitForLate = "no unit could be taken again for the late payment; the money goes back"

// staysLate reports whether a late payment that was refused stays late: in a split sale other shares may have the units that this
// one lacks. A user who has bought again gets none.
func (c *completion) staysLate(row *orderRow) (bool, error) {
	if c.sale.Shares < 2 {
		return false, nil
	}
	var others []int64
	err := c.tx.Model(&orderRow{}).Where("voucher_id = ? AND user_id = ? AND live = 1", row.VoucherID, row.UserID).Limit(1).Pluck("id", &others).Error
	if err != nil {
		return false, fmt.Errorf("looking for another order of user %d: %w", row.UserID, err)
	}
	return len(others) == 0, nil
}

// Lacking implements service.LateLedger.
func (s *Store) Lacking(ctx context.Context, each, n int) ([]order.LackingPayment, error) {
	var rows []struct {
		PaymentID string `gorm:"column:payment_id"`
		Operation int64  `gorm:"column:operation"`
		VoucherID int64  `gorm:"column:voucher_id"`
		Share     int    `gorm:"column:share"`
		Delta     int64  `gorm:"column:delta"`
	}
	err := s.read(ctx).Raw("SELECT payment_id, operation, voucher_id, share, delta FROM ("+
		"SELECT p.id AS payment_id, p.operation, o.voucher_id, o.share, o.delta, p.create_time, "+
		"ROW_NUMBER() OVER (PARTITION BY o.voucher_id, o.share ORDER BY p.create_time, p.id) AS nth "+
		"FROM tb_payment p JOIN tb_voucher_order r ON r.id = p.order_id "+
		"JOIN tb_voucher_operation o ON o.voucher_id = p.voucher_id AND o.share = r.share AND o.number = p.operation "+
		"JOIN tb_seckill_voucher s ON s.voucher_id = o.voucher_id AND s.share = o.share "+
		"WHERE p.state = ? AND o.state = ? AND s.retired = ?) l WHERE nth <= ? ORDER BY create_time, payment_id LIMIT ?",
		order.PaymentLate, operationRefused, false, each, n).Find(&rows).Error
	if err != nil {
		return nil, readError("looking for late payments that lack units", err)
	}
	lacking := make([]order.LackingPayment, len(rows))
	for i, row := range rows {
		lacking[i] = order.LackingPayment{
			PaymentID: row.PaymentID, Operation: row.Operation, Sale: order.SaleID{VoucherID: row.VoucherID, Share: row.Share}, Units: -row.Delta,
		}
	}
	return lacking, nil
}

// ReviveLacking implements service.LateLedger.
func (s *Store) ReviveLacking(ctx context.Context, l order.LackingPayment) error {
	return s.decideLacking(ctx, l, func(r *receipt, sale *saleRow) error { return r.revive(sale) })
}

// RefuseLacking implements service.LateLedger.
func (s *Store) RefuseLacking(ctx context.Context, l order.LackingPayment) error {
	return s.decideLacking(ctx, l, func(r *receipt, _ *saleRow) error { return r.refuse(order.ByPayments, noUnitForLate) })
}

// decideLacking decides about a late payment that lacks units, unless somebody else has since: then it has another operation, or is
// late no more.
func (s *Store) decideLacking(ctx context.Context, l order.LackingPayment, decide func(r *receipt, sale *saleRow) error) error {
	err := s.writeRetry(ctx, func(tx *gorm.DB) error {
		p, row, err := lockPayment(tx, l.PaymentID)
		if err != nil {
			return err
		}
		if p.State != order.PaymentLate || p.Operation == nil || *p.Operation != l.Operation {
			return nil
		}
		sale, err := lockSale(tx, row.sale())
		if err != nil {
			return err
		}
		r := receipt{store: s, tx: tx, payment: p, order: row}
		if r.now, err = s.ledgerTime(tx); err != nil {
			return err
		}
		return decide(&r, &sale)
	})
	if err != nil {
		return readError("deciding about the late payment "+l.PaymentID, err)
	}
	return nil
}

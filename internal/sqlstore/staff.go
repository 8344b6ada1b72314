package sqlstore

import (
	"context"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// CancelForStaff implements service.OrderLedger.
func (s *Store) CancelForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return s.actForStaff(ctx, act, order.Cancel, voucher.OrderCancelled, s.cancel)
}

// RefundForStaff implements service.PaymentLedger.
func (s *Store) RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return s.actForStaff(ctx, act, order.RequestRefund, voucher.OrderRefunded, s.refund)
}

// actForStaff takes an order one step for staff. An order that has taken the step already stays as it is.
func (s *Store) actForStaff(
	ctx context.Context, act order.StaffAct, action order.Action, audited voucher.Action,
	take func(tx *gorm.DB, rows []orderRow, c cause) error,
) (order.Order, error) {
	step := func(tx *gorm.DB, rows []orderRow) error {
		row := rows[0]
		if row.Status == action.To() || action == order.RequestRefund && row.Status == order.Refunded {
			return nil
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		c := cause{by: act.Actor(), at: now, why: order.StaffDecided}
		if err := take(tx, rows, c); err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, act.By, sqlkit.AuditRow{
			VoucherID: row.VoucherID, Action: audited, Changes: act.Audited(row.Status, rows[0].Status),
		})
	}
	return s.withOrder(ctx, "for staff: "+action.String(), act.By.Key, act.OrderID, 0, step)
}

// cancel cancels a locked order.
func (s *Store) cancel(tx *gorm.DB, rows []orderRow, c cause) error {
	if err := order.Cancel.Check(rows[0].ID, rows[0].Status); err != nil {
		return err
	}
	if err := s.may(tx, rows[0], order.Cancel, c); err != nil {
		return err
	}
	return s.advance(tx, rows, order.Cancel, c)
}

// RetryRefund implements service.StuckLedger.
func (s *Store) RetryRefund(ctx context.Context, act order.PaymentAct) (order.Payment, order.Order, error) {
	return s.actOnStuck(ctx, act, order.PaymentRefunding, voucher.RefundRetried,
		func(tx *gorm.DB, p *paymentRow, rows []orderRow, c cause) error {
			if err := p.sendBack(tx, c.at); err != nil {
				return err
			}
			if err := s.paymentChanged(tx, p, rows, order.NewsRetried, c.at); err != nil {
				return err
			}
			c.why = order.RefundRetried
			return writeHistory(tx, rows, c)
		})
}

// CloseRefund implements service.StuckLedger.
func (s *Store) CloseRefund(ctx context.Context, act order.PaymentAct) (order.Payment, order.Order, error) {
	return s.actOnStuck(ctx, act, order.PaymentClosed, voucher.RefundClosed,
		func(tx *gorm.DB, p *paymentRow, rows []orderRow, c cause) error {
			p.State, p.CloseTime = order.PaymentClosed, &c.at
			if err := p.save(tx); err != nil {
				return err
			}
			if err := s.paymentChanged(tx, p, rows, order.NewsClosed, c.at); err != nil {
				return err
			}
			c.why = order.RefundClosed
			return s.refundEnds(tx, p, rows, c)
		})
}

// actOnStuck brings a payment whose refund is stuck to another state for staff, with what take writes. One that is in
// that state already stays as it is.
func (s *Store) actOnStuck(
	ctx context.Context, act order.PaymentAct, to order.PaymentState, audited voucher.Action,
	take func(tx *gorm.DB, p *paymentRow, rows []orderRow, c cause) error,
) (order.Payment, order.Order, error) {
	step := func(tx *gorm.DB, p *paymentRow, rows []orderRow) error {
		row := rows[0]
		switch before := p.State; {
		case before == to:
			return nil
		case before != order.PaymentStuck:
			return &order.PaymentStateError{PaymentID: p.ID, State: before}
		case p.Dispute == order.DisputeOpen: // it decides whose the money is
			return &order.NotNowError{Why: order.ErrDisputed}
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if err := take(tx, p, rows, cause{by: act.Actor(), at: now}); err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, act.By, sqlkit.AuditRow{
			VoucherID: row.VoucherID, Action: audited,
			Changes: act.Audited(order.PaymentStuck, p.State, row.order(), rows[0].order()),
		})
	}
	return s.withPayment(ctx, string(audited)+" of", act.By.Key, act.PaymentID, step)
}

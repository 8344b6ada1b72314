package sqlstore

import (
	"context"
	"fmt"

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

// actForStaff takes an action on an order for staff. An order that is already in the resulting state stays as it is.
func (s *Store) actForStaff(
	ctx context.Context, act order.StaffAct, action order.Action, audited voucher.Action,
	take func(tx *gorm.DB, rows []orderRow, c cause) error,
) (order.Order, error) {
	var rows []orderRow
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if err := sqlkit.ClaimKey(tx, now, act.By.Key, act.Made()); err != nil {
			return err
		}
		row, err := lockOrder(tx, act.OrderID, 0)
		if err != nil {
			return err
		}
		rows = []orderRow{row}
		if row.Status == action.To() || action == order.RequestRefund && row.Status == order.Refunded {
			return nil
		}
		if now, err = s.db.LedgerTime(tx); err != nil { // the lock may have been waited for
			return err
		}
		c := cause{by: act.Actor(), at: now, why: order.StaffDecided}
		if err := take(tx, rows, c); err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, act.By, sqlkit.AuditRow{
			VoucherID: row.VoucherID, Action: audited, Changes: act.Audited(row.Status, rows[0].Status),
		})
	})
	if err != nil {
		return order.Order{}, sqlkit.ReadError(fmt.Sprintf("%s order %d for staff", action, act.OrderID), err)
	}
	return rows[0].order(), nil
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

// actOnStuck moves a payment whose refund is stuck to another state for staff, with what take writes. A payment that is
// already in that state stays as it is.
func (s *Store) actOnStuck(
	ctx context.Context, act order.PaymentAct, to order.PaymentState, audited voucher.Action,
	take func(tx *gorm.DB, p *paymentRow, rows []orderRow, c cause) error,
) (order.Payment, order.Order, error) {
	var p paymentRow
	var rows []orderRow
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if err := sqlkit.ClaimKey(tx, now, act.By.Key, act.PaymentID); err != nil {
			return err
		}
		locked, row, err := lockPayment(tx, act.PaymentID)
		if err != nil {
			return err
		}
		p, rows = locked, []orderRow{row}
		switch before := p.State; {
		case before == to:
			return nil
		case before != order.PaymentStuck:
			return &order.PaymentStateError{PaymentID: p.ID, State: before}
		case p.Dispute == order.DisputeOpen: // the dispute will decide whose money it is
			return &order.NotNowError{Why: order.ErrDisputed}
		}
		if now, err = s.db.LedgerTime(tx); err != nil { // the lock may have been waited for
			return err
		}
		if err := take(tx, &p, rows, cause{by: act.Actor(), at: now}); err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, act.By, sqlkit.AuditRow{
			VoucherID: row.VoucherID, Action: audited,
			Changes: act.Audited(order.PaymentStuck, p.State, row.order(), rows[0].order()),
		})
	})
	if err != nil {
		return order.Payment{}, order.Order{},
			sqlkit.ReadError(fmt.Sprintf("%s of payment %s", audited, act.PaymentID), err)
	}
	return p.payment(), rows[0].order(), nil
}

package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// errNotPaid: the service cannot refund a paid order without a payment.
var errNotPaid = errors.New("the order was paid without a payment")

// errNotRefunding: a provider cannot have sent back money that was not to go back.
var errNotRefunding = errors.New("the payment's money is not going back")

// AskRefund implements service.PaymentLedger.
func (s Payments) AskRefund(ctx context.Context, owner, orderID int64) (order.Order, error) {
	ask := func(tx transaction, rows []orderRow) error {
		if status := rows[0].Status; status == order.Refunding || status == order.Refunded {
			return nil // asked before
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		return tx.refund(rows, cause{by: order.Owner, at: now})
	}
	return s.withOrder(ctx, "asking for a refund of", idempotency.Key{}, orderID, owner, ask)
}

// RefundForStaff implements service.PaymentLedger.
func (s Payments) RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return s.actForStaff(ctx, act, order.RequestRefund, voucher.OrderRefunded, transaction.refund)
}

// refund begins to send back the money of a locked order. One that cost nothing is refunded at once.
func (tx transaction) refund(rows []orderRow, c cause) error {
	row := rows[0]
	if err := order.RequestRefund.Check(row.ID, row.Status); err != nil {
		return err
	}
	p, err := paymentOf(tx.DB, row.ID, order.PaymentReceived)
	if err != nil {
		return err
	}
	if p == nil && row.Amount > 0 {
		return errNotPaid
	}
	if p != nil && p.Dispute == order.DisputeOpen {
		return &order.NotNowError{Why: order.ErrDisputed}
	}
	if err := tx.may(row, order.RequestRefund, c); err != nil {
		return err
	}
	if p == nil {
		return tx.refundNothing(rows, c)
	}
	if err := tx.advance(rows, order.RequestRefund, c); err != nil {
		return err
	}
	return p.sendBack(tx, c.at)
}

// refundNothing marks paid orders that cost nothing as refunded, when their owner or staff want that. There is no money
// for a provider to send back.
func (tx transaction) refundNothing(rows []orderRow, c cause) error {
	if err := tx.advance(rows, order.RequestRefund, c); err != nil {
		return err
	}
	return tx.advance(rows, order.ConfirmRefund, cause{by: order.ByPayments, at: c.at, why: order.NothingToPayBack})
}

// Refunding implements service.PaymentLedger.
func (s Payments) Refunding(ctx context.Context, n int) ([]order.Payment, error) {
	query := s.db.Read(ctx).Where("state = ? AND dispute <> ?", order.PaymentRefunding, order.DisputeOpen).
		Order("create_time, number").Limit(n)
	return sqlkit.List(query, "reading payments that are to go back", (*paymentRow).payment)
}

// Refunded implements service.PaymentLedger.
func (s Payments) Refunded(ctx context.Context, paymentID string) (order.Order, error) {
	back := func(tx transaction, p *paymentRow, rows []orderRow) error {
		switch p.State {
		case order.PaymentRefunded:
			return nil // refunded before
		case order.PaymentRefunding, order.PaymentStuck, order.PaymentClosed: // asked before it got stuck, perhaps
		case order.PaymentOpen, order.PaymentReceived, order.PaymentLate:
			return fmt.Errorf("%w: it is %s", errNotRefunding, p.State)
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		closed := p.State == order.PaymentClosed
		p.State, p.RefundTime, p.StuckTime, p.Refusal = order.PaymentRefunded, &now, nil, ""
		before := p.payment().Gone()
		p.Returned += p.payment().Rest()
		tx.wentBack(p, before, now)
		if err := p.save(tx); err != nil {
			return err
		}
		if closed { // the news was that the provider keeps the money
			if err := tx.paymentChanged(p, rows, order.NewsReturned, now); err != nil {
				return err
			}
		}
		return tx.refundEnds(p, rows, cause{by: order.ByProvider, at: now, why: order.MoneyBack})
	}
	_, o, err := s.withPayment(ctx, "refunding", idempotency.Key{}, paymentID, back)
	return o, err
}

// refundEnds writes the end of a payment's refund into the history of its locked order, which is refunded by it if it
// was paid with the payment.
func (tx transaction) refundEnds(p *paymentRow, rows []orderRow, c cause) error {
	if p.AcceptTime == nil || rows[0].Status != order.Refunding {
		return writeHistory(tx, rows, c)
	}
	return tx.advance(rows, order.ConfirmRefund, c)
}

// Refused implements service.StuckLedger.
func (s Payments) Refused(ctx context.Context, paymentID, reason string) (order.Payment, error) {
	refused := func(tx transaction, p *paymentRow, rows []orderRow) error {
		// The provider may have said something else meanwhile, to another instance or by a notice.
		if p.State != order.PaymentRefunding || p.Dispute == order.DisputeOpen || p.payment().AllGone() {
			return nil
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		p.State, p.StuckTime, p.Refusal = order.PaymentStuck, &now, order.CheckedRefusal(reason)
		if err := p.save(tx); err != nil {
			return err
		}
		if err := tx.paymentChanged(p, rows, order.NewsStuck, now); err != nil {
			return err
		}
		return writeHistory(tx, rows, cause{by: order.ByProvider, at: now, why: order.RefundRefused})
	}
	p, _, err := s.withPayment(ctx, "noting the refusal of", idempotency.Key{}, paymentID, refused)
	return p, err
}

// NeedStaff implements service.StuckLedger.
func (s Payments) NeedStaff(ctx context.Context) (order.NeedStaff, error) {
	var n order.NeedStaff
	err := s.db.Read(ctx).Model(&paymentRow{}).Where("state = ?", order.PaymentStuck).Count(&n.Stuck).Error
	if err == nil {
		err = s.db.Read(ctx).Model(&paymentRow{}).Where("dispute = ?", order.DisputeOpen).Count(&n.Disputed).Error
	}
	return n, sqlkit.ReadError("counting payments that need staff", err)
}

// RetryRefund implements service.StuckLedger.
func (s Payments) RetryRefund(ctx context.Context, act order.PaymentAct) (order.Payment, order.Order, error) {
	return s.actOnStuck(ctx, act, order.PaymentRefunding, voucher.RefundRetried,
		func(tx transaction, p *paymentRow, rows []orderRow, c cause) error {
			if err := p.sendBack(tx, c.at); err != nil {
				return err
			}
			if err := tx.paymentChanged(p, rows, order.NewsRetried, c.at); err != nil {
				return err
			}
			c.why = order.RefundRetried
			return writeHistory(tx, rows, c)
		})
}

// CloseRefund implements service.StuckLedger.
func (s Payments) CloseRefund(ctx context.Context, act order.PaymentAct) (order.Payment, order.Order, error) {
	return s.actOnStuck(ctx, act, order.PaymentClosed, voucher.RefundClosed,
		func(tx transaction, p *paymentRow, rows []orderRow, c cause) error {
			p.State, p.CloseTime = order.PaymentClosed, &c.at
			if err := p.save(tx); err != nil {
				return err
			}
			if err := tx.paymentChanged(p, rows, order.NewsClosed, c.at); err != nil {
				return err
			}
			c.why = order.RefundClosed
			return tx.refundEnds(p, rows, c)
		})
}

// actOnStuck moves a payment whose refund is stuck to another state for staff, with what take writes. A payment that is
// already in that state stays as it is.
func (s Payments) actOnStuck(
	ctx context.Context, act order.PaymentAct, to order.PaymentState, audited voucher.Action,
	take func(tx transaction, p *paymentRow, rows []orderRow, c cause) error,
) (order.Payment, order.Order, error) {
	step := func(tx transaction, p *paymentRow, rows []orderRow) error {
		row := rows[0]
		switch before := p.State; {
		case before == to:
			return nil
		case before != order.PaymentStuck:
			return &order.PaymentStateError{PaymentID: p.ID, State: before}
		case p.Dispute == order.DisputeOpen: // the dispute will decide whose money it is
			return &order.NotNowError{Why: order.ErrDisputed}
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		if err := take(tx, p, rows, cause{by: act.Actor(), at: now}); err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx.DB, now, act.By, sqlkit.AuditRow{
			VoucherID: row.VoucherID, Action: audited,
			Changes: act.Audited(order.PaymentStuck, p.State, row.order(), rows[0].order()),
		})
	}
	return s.withPayment(ctx, string(audited)+" of", act.By.Key, act.PaymentID, step)
}

package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/payments"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

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
		return tx.refund(rows, cause{by: order.Owner, at: now}, "")
	}
	return s.withOrder(ctx, "asking for a refund of", idempotency.Key{}, orderID, owner, ask)
}

// RefundForStaff implements service.PaymentLedger.
func (s Payments) RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return s.actForStaff(ctx, act, order.RequestRefund, voucher.OrderRefunded,
		func(tx transaction, rows []orderRow, c cause) error { return tx.refund(rows, c, act.Why) })
}

// refund begins to send back the money of a locked order, all that is left of it; why is for staff. An order that cost
// nothing is refunded at once, and so is one that staff have made paid again after its money had gone back, or after
// they had closed its refund; while that is under way, or stuck, the order waits for it.
func (tx transaction) refund(rows []orderRow, c cause, why string) error {
	row := rows[0]
	if err := order.RequestRefund.Check(row.ID, row.Status); err != nil {
		return err
	}
	p, err := payments.OfOrder(tx.Where("accept_time IS NOT NULL"), row.ID, payment.Received, payment.Refunding,
		payment.Refunded, payment.Stuck, payment.Closed)
	if err != nil {
		return err
	}
	if p == nil && row.Amount > 0 {
		return errors.New("the order was paid without a payment")
	}
	if p != nil && p.Dispute == payment.DisputeOpen {
		return &order.NotNowError{Why: payment.ErrDisputed}
	}
	if err := tx.may(row, order.RequestRefund, c); err != nil {
		return err
	}
	switch {
	case p == nil, p.State == payment.Refunded, p.State == payment.Closed:
		return tx.refundNothing(rows, c)
	case p.State == payment.Received:
		if err := tx.sendBack(p, &rows[0], c, why); err != nil {
			return err
		}
	}
	return tx.advance(rows, order.RequestRefund, c)
}

// refundNothing marks paid orders as refunded, when their owner or staff want that, for which there is no money that a
// provider is to send back.
func (tx transaction) refundNothing(rows []orderRow, c cause) error {
	if err := tx.advance(rows, order.RequestRefund, c); err != nil {
		return err
	}
	return tx.advance(rows, order.ConfirmRefund, cause{by: order.ByPayments, at: c.at, why: reason.NothingToPayBack})
}

// SendRefund implements service.PaymentLedger.
func (s Payments) SendRefund(
	ctx context.Context, paymentID, refundID string,
) (p payment.Payment, r payment.Refund, due bool, err error) {
	send := func(tx transaction, row *payments.Row, rows []orderRow) error {
		r, due = payment.Refund{}, false
		if refundID == "" && !row.Payment().Due() {
			return nil
		}
		a, now, err := tx.account(row)
		if err != nil {
			return err
		}
		alone, err := tx.alone()
		if err != nil {
			return err
		}
		r, due = a.Sent(refundID, alone, now)
		return tx.keepAccount(a, &rows[0])
	}
	p, _, err = s.withPayment(ctx, "sending a refund of", idempotency.Key{}, paymentID, send)
	return p, r, due, err
}

// NothingLeft implements service.PaymentLedger.
func (s Payments) NothingLeft(ctx context.Context, paymentID string) (order.Order, error) {
	return s.Refunded(ctx, paymentID, "", "")
}

// Refunded implements service.PaymentLedger. refundID is the last refund that the provider has sent; "": there is none.
func (s Payments) Refunded(ctx context.Context, paymentID, refundID, reference string) (order.Order, error) {
	back := func(tx transaction, p *payments.Row, rows []orderRow) error {
		switch p.State {
		case payment.Refunded:
			if refundID == "" {
				return nil
			}
			return tx.refundedBefore(p, rows, refundID, reference)
		case payment.Refunding, payment.Stuck, payment.Closed: // asked before it got stuck, perhaps
		case payment.Open, payment.Received, payment.Late:
			return fmt.Errorf("the payment's money is not going back: it is %s", p.State)
		}
		a, now, err := tx.account(p)
		if err != nil {
			return err
		}
		if refundID != "" {
			a.Finish(string(order.ByProvider), refundID, reference, now)
		}
		news := payment.NewsReturned
		if !a.AllGone() { // the provider was asked for less than is left now, or for nothing
			if refundID == "" {
				news = ""
			}
			return tx.store(a, &rows[0], news, payment.Refund{}, now)
		}
		// No news of its own: the order is refunded by it, and the news was not that the provider keeps the money.
		if p.State != payment.Closed && p.AcceptTime != nil && rows[0].Status == order.Refunding {
			news = ""
		}
		p.State, p.RefundTime, p.StuckTime, p.Refusal = payment.Refunded, &now, nil, ""
		if err := tx.store(a, &rows[0], news, payment.Refund{}, now); err != nil {
			return err
		}
		return tx.refundEnds(p, rows, cause{by: order.ByProvider, at: now, why: reason.MoneyBack})
	}
	_, o, err := s.withPayment(ctx, "refunding", idempotency.Key{}, paymentID, back)
	return o, err
}

// refundedBefore takes the answer about a payment that is refunded: a notice may have been here before it, and not have
// named the refund as ours.
func (tx transaction) refundedBefore(p *payments.Row, rows []orderRow, refundID, reference string) error {
	a, now, err := tx.account(p)
	if err != nil {
		return err
	}
	done := payment.Outcome{State: payment.RefundDone, Reference: reference}
	if !a.Answered(refundID, done, now) {
		return nil
	}
	return tx.store(a, &rows[0], payment.NewsReturned, payment.Refund{}, now)
}

// refundEnds writes the end of a payment's refund into the history of its locked order, which is refunded by it if it
// was paid with the payment.
func (tx transaction) refundEnds(p *payments.Row, rows []orderRow, c cause) error {
	if p.AcceptTime == nil || rows[0].Status != order.Refunding {
		return writeHistory(tx, rows, c)
	}
	return tx.advance(rows, order.ConfirmRefund, c)
}

// Refused implements service.StuckLedger.
func (s Payments) Refused(ctx context.Context, paymentID, refundID, refusal string) (payment.Payment, error) {
	refused := func(tx transaction, p *payments.Row, rows []orderRow) error {
		// The provider may have said something else meanwhile, to another instance or by a notice.
		if p.State != payment.Refunding || p.Dispute == payment.DisputeOpen || p.Payment().AllGone() {
			return nil
		}
		a, now, err := tx.account(p)
		if err != nil {
			return err
		}
		all := a.All()
		if all == nil {
			all = a.AskAll(string(order.ByService), "", now)
		}
		if all == nil || all.ID != refundID || all.State != payment.RefundAsked {
			return nil // another one takes its place, or has been taken
		}
		a.Answered(refundID, payment.Outcome{State: payment.RefundFailed, Reason: refusal}, now)
		p.State, p.StuckTime, p.Refusal = payment.Stuck, &now, payment.CheckedRefusal(refusal)
		if err := tx.store(a, &rows[0], payment.NewsStuck, payment.Refund{}, now); err != nil {
			return err
		}
		return writeHistory(tx, rows, cause{by: order.ByProvider, at: now, why: reason.RefundRefused})
	}
	p, _, err := s.withPayment(ctx, "noting the refusal of", idempotency.Key{}, paymentID, refused)
	return p, err
}

// RetryRefund implements service.StuckLedger.
func (s Payments) RetryRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, order.Order, error) {
	return s.actOnStuck(ctx, act, payment.Refunding, voucher.RefundRetried,
		func(tx transaction, p *payments.Row, rows []orderRow, c cause) error {
			c.why = reason.RefundRetried
			if err := tx.askAgain(p, rows, c, act.Why); err != nil {
				return err
			}
			if err := tx.paymentChanged(p, rows, payment.NewsRetried, c.at); err != nil {
				return err
			}
			return writeHistory(tx, rows, c)
		})
}

// CloseRefund implements service.StuckLedger.
func (s Payments) CloseRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, order.Order, error) {
	return s.actOnStuck(ctx, act, payment.Closed, voucher.RefundClosed,
		func(tx transaction, p *payments.Row, rows []orderRow, c cause) error {
			a, err := payments.Open(tx.DB, p, c.at)
			if err != nil {
				return err
			}
			a.CloseFailed(c.at)
			if p.State == payment.Stuck {
				p.State, p.CloseTime = payment.Closed, &c.at
			}
			if err := tx.store(a, &rows[0], payment.NewsClosed, payment.Refund{}, c.at); err != nil {
				return err
			}
			c.why = reason.RefundClosed
			if p.State != payment.Closed {
				return writeHistory(tx, rows, c)
			}
			return tx.refundEnds(p, rows, c)
		})
}

// actOnStuck moves a payment whose refund is stuck to another state for staff, with what take writes. A payment that is
// already in that state stays as it is. A received payment stays received: take sees to those of its parts that have
// failed.
func (s Payments) actOnStuck(
	ctx context.Context, act order.PaymentAct, to payment.State, audited voucher.Action,
	take func(tx transaction, p *payments.Row, rows []orderRow, c cause) error,
) (payment.Payment, order.Order, error) {
	step := func(tx transaction, p *payments.Row, rows []orderRow) error {
		row, before := rows[0], p.State
		unseen, err := p.HasUnseen(tx.DB)
		switch {
		case err != nil:
			return err
		case before == to:
			return nil
		case before != payment.Stuck && !unseen:
			return &payment.StateError{PaymentID: p.ID, State: before}
		case p.Dispute == payment.DisputeOpen: // the dispute will decide whose money it is
			return &order.NotNowError{Why: payment.ErrDisputed}
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
			Changes: act.Audited(before, p.State, row.order(), rows[0].order()),
		})
	}
	return s.withPayment(ctx, string(audited)+" of", act.By.Key, act.PaymentID, step)
}

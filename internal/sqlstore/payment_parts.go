package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/payments"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// RefundPart implements service.PartLedger.
func (s Payments) RefundPart(
	ctx context.Context, act order.PaymentAct, cents int64,
) (payment.Payment, order.Order, error) {
	ask := func(tx transaction, p *payments.Row, rows []orderRow) error {
		row := rows[0]
		switch {
		case p.State != payment.Received:
			return &payment.NotReceivedError{PaymentID: p.ID, State: p.State}
		case p.Dispute == payment.DisputeOpen:
			return &order.NotNowError{Why: payment.ErrDisputed}
		}
		a, now, err := tx.account(p)
		if err != nil {
			return err
		}
		c := cause{by: act.Actor(), at: now, why: reason.StaffDecided}
		if cents == a.Left() && !spent(row.Status) {
			err = tx.refundRest(a, rows, c, act.Why)
		} else {
			err = tx.askPart(a, rows, cents, c, act.Why)
		}
		if err != nil {
			return err
		}
		changes := append(act.Audited(payment.Received, p.State, row.order(), rows[0].order()),
			voucher.FieldChange{Field: "refundAmount", To: fmt.Sprint(cents)})
		return sqlkit.WriteAudit(tx.DB, now, act.By, sqlkit.AuditRow{
			VoucherID: row.VoucherID, Action: voucher.PartRefunded, Changes: changes,
		})
	}
	return s.withPayment(ctx, "refunding a part of", act.By.Key, act.PaymentID, ask)
}

// spent reports whether an order in the state keeps it although all of its money goes back: its coupon was used, or has
// lapsed.
func spent(s order.Status) bool { return s == order.Redeemed || s == order.Lapsed }

// refundRest begins to send back all that is left of a payment, whose order goes with it.
func (tx transaction) refundRest(a *payments.Account, rows []orderRow, c cause, why string) error {
	if err := order.RequestRefund.Check(rows[0].ID, rows[0].Status); err != nil {
		return err
	}
	if err := tx.may(rows[0], order.RequestRefund, c); err != nil {
		return err
	}
	if err := tx.sendBack(a.Row, &rows[0], c, why); err != nil {
		return err
	}
	return tx.advance(rows, order.RequestRefund, c)
}

// askPart asks for a part of a payment's money. Its order stays as it is.
func (tx transaction) askPart(a *payments.Account, rows []orderRow, cents int64, c cause, why string) error {
	if alone, err := tx.alone(); err != nil || !alone {
		return cmp.Or(err, order.ErrUpgrading)
	}
	asked, err := a.AskPart(cents, string(c.by), why, c.at)
	if left, is := errors.AsType[*payment.LeftError](err); is {
		left.Currency = tx.db.Currency()
	}
	if err != nil {
		return err
	}
	if err := tx.store(a, &rows[0], payment.NewsRefund, *asked, c.at); err != nil {
		return err
	}
	c.why = reason.PartAsked
	return writeHistory(tx, rows, c)
}

// askAgain asks once more for what a provider has refused: all that is left of a stuck payment, or parts.
func (tx transaction) askAgain(p *payments.Row, rows []orderRow, c cause, why string) error {
	if p.State == payment.Stuck {
		return tx.sendBack(p, &rows[0], c, why)
	}
	a, err := payments.Open(tx.DB, p, c.at)
	if err != nil {
		return err
	}
	for _, r := range slices.Clone(a.Refunds) {
		if !r.NeedsStaff() {
			continue
		}
		if _, err := a.AskPart(min(r.Amount, a.Left()), string(c.by), why, c.at); err != nil {
			return err
		}
	}
	a.CloseFailed(c.at)
	return tx.store(a, &rows[0], "", payment.Refund{}, c.at)
}

// TakeRefund implements service.PaymentLedger.
func (s Payments) TakeRefund(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error) {
	take := func(tx transaction, p *payments.Row, rows []orderRow) error {
		if err := p.From(n); err != nil {
			return err
		}
		if n.Refund.State != payment.RefundDone {
			if alone, err := tx.alone(); err != nil || !alone {
				return cmp.Or(err, order.ErrUpgrading)
			}
		}
		a, now, err := tx.account(p)
		if err != nil {
			return err
		}
		r, news, err := a.Told(n, now)
		if err != nil || !news {
			return err
		}
		return tx.settleRefund(a, rows, r.ID, now)
	}
	return s.withPayment(ctx, "taking a notice about a refund of", idempotency.Key{}, n.PaymentID, take)
}

// RefundAnswered implements service.PaymentLedger.
func (s Payments) RefundAnswered(
	ctx context.Context, paymentID, refundID string, o payment.Outcome,
) (payment.Payment, order.Order, error) {
	take := func(tx transaction, p *payments.Row, rows []orderRow) error {
		a, now, err := tx.account(p)
		if err != nil || !a.Answered(refundID, o, now) {
			return err
		}
		return tx.settleRefund(a, rows, refundID, now)
	}
	return s.withPayment(ctx, "taking the answer about a refund of", idempotency.Key{}, paymentID, take)
}

// settleRefund writes what a refund's new state means for its payment and its order. The order's units go back on sale
// once the provider has accepted refunds of all that was left, pending or done; a refund that fails after that takes
// none again.
func (tx transaction) settleRefund(a *payments.Account, rows []orderRow, id string, now time.Time) error {
	p := a.Row
	a.GiveUp(now)
	r := *a.Find(id)
	news, why := payment.NewsRefund, reason.RefundPending
	switch r.State {
	case payment.RefundDone:
		news, why = payment.NewsReturned, payment.Notice{Kind: payment.NoticeReturned}.Why(a.AllGone())
	case payment.RefundFailed:
		why = reason.RefundFailed
	case payment.RefundAsked, payment.RefundPending:
	}
	c := cause{by: order.ByProvider, at: now, why: why}
	asks := false // the order is to be refunded, as all of its money has gone back
	switch refused := a.RefusedAll(); {
	case a.AllGone() && slices.Contains([]payment.State{payment.Received, payment.Stuck, payment.Closed}, p.State):
		asks, p.State = p.AcceptTime != nil && rows[0].Status == order.Paid, payment.Refunding
		p.RefundingTime, p.StuckTime, p.Refusal = cmp.Or(p.RefundingTime, &now), nil, ""
	case a.AllGone() && p.State == payment.Refunding:
		p.State, p.RefundTime = payment.Refunded, &now
	case refused != nil && (p.State == payment.Refunding || p.State == payment.Refunded),
		p.State == payment.Refunded && !a.AllGone(): // a part, or what was sent back at the provider, has failed since
		p.State, p.StuckTime, p.Refusal, p.RefundTime = payment.Stuck, &now, cmp.Or(refused, &r).Failure, nil
		news = payment.NewsStuck
	}
	if err := tx.store(a, &rows[0], news, r, now); err != nil {
		return err
	}
	switch {
	case asks:
		return tx.advance(rows, order.RequestRefund, c)
	case p.AcceptTime != nil && rows[0].Status == order.Refunding && a.Accepted():
		return tx.advance(rows, order.ConfirmRefund, c)
	default:
		return writeHistory(tx, rows, c)
	}
}

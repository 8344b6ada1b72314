package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/refunds"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// RefundPart implements service.PartLedger.
func (s Payments) RefundPart(
	ctx context.Context, act order.PaymentAct, cents int64,
) (payment.Payment, order.Order, error) {
	ask := func(tx transaction, p *paymentRow, rows []orderRow) error {
		row := rows[0]
		switch {
		case p.State != payment.Received:
			return &payment.NotReceivedError{PaymentID: p.ID, State: p.State}
		case p.Dispute == payment.DisputeOpen:
			return &order.NotNowError{Why: payment.ErrDisputed}
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		a, err := tx.account(p, now)
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
func (tx transaction) refundRest(a *account, rows []orderRow, c cause, why string) error {
	if err := order.RequestRefund.Check(rows[0].ID, rows[0].Status); err != nil {
		return err
	}
	if err := tx.may(rows[0], order.RequestRefund, c); err != nil {
		return err
	}
	if err := tx.advance(rows, order.RequestRefund, c); err != nil {
		return err
	}
	return a.row.sendBack(tx, &rows[0], c, why)
}

// askPart asks for a part of a payment's money. Its order stays as it is.
func (tx transaction) askPart(a *account, rows []orderRow, cents int64, c cause, why string) error {
	if alone, err := tx.alone(); err != nil || !alone {
		return cmpErr(err, order.ErrUpgrading)
	}
	asked, err := a.AskPart(cents, string(c.by), why, c.at)
	if left, is := errors.AsType[*payment.LeftError](err); is {
		left.Currency = tx.db.Currency()
	}
	if err != nil {
		return err
	}
	r := *asked
	if err := tx.keepAccount(a, &rows[0]); err != nil {
		return err
	}
	if err := a.row.save(tx); err != nil {
		return err
	}
	if err := tx.refundChanged(a.row, rows, payment.NewsRefund, r, c.at); err != nil {
		return err
	}
	c.why = reason.PartAsked
	return writeHistory(tx, rows, c)
}

// askAgain asks once more for what a provider has refused: all that is left of a stuck payment, or parts.
func (tx transaction) askAgain(p *paymentRow, rows []orderRow, c cause, why string) error {
	if p.State == payment.Stuck {
		return p.sendBack(tx, &rows[0], c, why)
	}
	a, err := tx.account(p, c.at)
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
	for i := range a.Refunds {
		if a.Refunds[i].NeedsStaff() {
			a.Refunds[i].ClosedAt = c.at
		}
	}
	if err := tx.keepAccount(a, &rows[0]); err != nil {
		return err
	}
	return p.save(tx)
}

// hasUnseen reports whether a part of a received payment has failed, and nobody has seen to it.
func (tx transaction) hasUnseen(p *paymentRow) (bool, error) {
	if p.State != payment.Received {
		return false, nil
	}
	found, err := refunds.Of(tx.DB, []string{p.ID})
	return slices.ContainsFunc(found[p.ID], payment.Refund.NeedsStaff), err
}

// TakeRefund implements service.PaymentLedger.
func (s Payments) TakeRefund(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error) {
	take := func(tx transaction, p *paymentRow, rows []orderRow) error {
		if err := p.of(n); err != nil {
			return err
		}
		if n.Refund.State != payment.RefundDone {
			if alone, err := tx.alone(); err != nil || !alone {
				return cmpErr(err, order.ErrUpgrading)
			}
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		a, err := tx.account(p, now)
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
	take := func(tx transaction, p *paymentRow, rows []orderRow) error {
		now, err := tx.now()
		if err != nil {
			return err
		}
		a, err := tx.account(p, now)
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
func (tx transaction) settleRefund(a *account, rows []orderRow, id string, now time.Time) error {
	p := a.row
	a.GiveUp(now)
	r := *a.Find(id)
	if err := tx.keepAccount(a, &rows[0]); err != nil {
		return err
	}
	tx.wentBack(p, a.before, now)
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
	switch refused := a.refusedAll(); {
	case a.AllGone() && slices.Contains([]payment.State{payment.Received, payment.Stuck, payment.Closed}, p.State):
		asks, p.State = p.AcceptTime != nil && rows[0].Status == order.Paid, payment.Refunding
		p.RefundingTime, p.StuckTime, p.Refusal = sqlkit.Stamp(first(p.RefundingTime, now)), nil, ""
	case a.AllGone() && p.State == payment.Refunding:
		p.State, p.RefundTime = payment.Refunded, &now
	case refused != nil && (p.State == payment.Refunding || p.State == payment.Refunded):
		p.State, p.StuckTime, p.Refusal, p.RefundTime = payment.Stuck, &now, refused.Failure, nil
		news = payment.NewsStuck
	}
	if err := p.save(tx); err != nil {
		return err
	}
	if err := tx.refundChanged(p, rows, news, r, now); err != nil {
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

// refusedAll returns the last refund of all that was left if it has failed, and nobody has seen to it; else nil.
func (a *account) refusedAll() *payment.Refund {
	if r := a.All(); r != nil && r.NeedsStaff() {
		return r
	}
	return nil
}

// first returns a time that is set, or else another one.
func first(set *time.Time, otherwise time.Time) time.Time {
	if set != nil {
		return *set
	}
	return otherwise
}

// cmpErr returns the first error that there is.
func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// RefundsIn implements service.PaymentLedger.
func (s Payments) RefundsIn(
	ctx context.Context, state payment.RefundState, origin payment.Origin, n int,
) ([]payment.Refund, error) {
	found, err := refunds.In(s.db.Read(ctx), state, origin, n)
	return found, sqlkit.ReadError("looking for refunds", err)
}

// RefundsOf returns the refunds of payments, by payment, the oldest first.
func (s Payments) RefundsOf(ctx context.Context, payments []string) (map[string][]payment.Refund, error) {
	found, err := refunds.Of(s.db.Read(ctx), payments)
	return found, sqlkit.ReadError("reading refunds", err)
}

// cancelPayments notes that the open payments of orders are to be cancelled at their providers, but for one.
func (tx transaction) cancelPayments(orders []int64, but string) error {
	for part := range sqlkit.Chunks(orders) {
		var open []string
		err := tx.Model(&paymentRow{}).Where("order_id IN ? AND state = ? AND amount > 0 AND id <> ?", part,
			payment.Open, but).Order("id").Pluck("id", &open).Error
		if err != nil {
			return fmt.Errorf("looking for payments to cancel: %w", err)
		}
		if len(open) == 0 {
			continue
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		rows := sqlkit.Map(open, func(id *string) cancelRow { return cancelRow{*id, now} })
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error; err != nil {
			return fmt.Errorf("noting %d payments to cancel: %w", len(rows), err)
		}
	}
	return nil
}

// cancelRow is a payment that its provider is to be told to expect no more.
type cancelRow struct {
	PaymentID  string    `gorm:"column:payment_id;primaryKey"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (cancelRow) TableName() string { return "tb_payment_cancel" }

// cancelFor is for how long a provider is told to expect no more of a payment: its order ended that long ago, and
// money that comes all the same goes back.
const cancelFor = 24 * time.Hour

// ToCancel implements service.PaymentLedger.
func (s Payments) ToCancel(ctx context.Context, n int) ([]payment.Payment, error) {
	const what = "looking for payments to cancel"
	var rows []cancelRow
	if err := s.db.Read(ctx).Order("create_time").Limit(n).Find(&rows).Error; err != nil || len(rows) == 0 {
		return nil, sqlkit.ReadError(what, err)
	}
	if old := s.db.Clock().Add(-cancelFor); rows[0].CreateTime.Before(old) {
		err := s.write(ctx, func(tx transaction) error {
			return tx.Where("create_time < ?", old).Delete(&cancelRow{}).Error
		})
		if err != nil {
			return nil, sqlkit.ReadError("giving up payments to cancel", err)
		}
	}
	ids := sqlkit.Map(rows, func(r *cancelRow) string { return r.PaymentID })
	return sqlkit.List(s.db.Read(ctx).Where("id IN ?", ids).Order("number"), what, (*paymentRow).payment)
}

// Cancelled implements service.PaymentLedger.
func (s Payments) Cancelled(ctx context.Context, paymentID string) error {
	err := s.write(ctx, func(tx transaction) error { return tx.Delete(&cancelRow{PaymentID: paymentID}).Error })
	return sqlkit.ReadError("noting that payment "+paymentID+" is cancelled", err)
}

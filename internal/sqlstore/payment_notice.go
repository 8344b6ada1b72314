package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/payments"
	"seckill/internal/sqlstore/sqlkit"
)

// TakeNotice implements service.PaymentLedger.
func (s Payments) TakeNotice(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error) {
	take := func(tx transaction, p *payments.Row, rows []orderRow) error {
		if err := p.From(n); err != nil {
			return err
		}
		before := p.Payment().Flow
		after, err := before.After(n, p.Amount)
		if err != nil || after == before {
			return err // repeated, or older than what is known
		}
		a, now, err := tx.account(p)
		if err != nil {
			return err
		}
		p.Dispute, p.Disputed = after.Dispute, after.Disputed
		a.Dispute, a.Disputed = after.Dispute, after.Disputed
		if after.Dispute != before.Dispute {
			p.DisputeTime = &now
		}
		a.Total(after.Returned, now)
		if err := tx.keepAccount(a, &rows[0]); err != nil {
			return err
		}
		a.Moved(now, tx.db.Midnight(now))
		return tx.tookNotice(p, rows, n, now)
	}
	return s.withPayment(ctx, "taking a notice about", idempotency.Key{}, n.PaymentID, take)
}

// tookNotice writes the payment as a notice has changed it, the history of its locked order, and what features write.
// If all of the money has gone back, it sets the payment and, if possible, its order to refunding: the job that
// confirms refunds finds that there is nothing left to send.
func (tx transaction) tookNotice(p *payments.Row, rows []orderRow, n payment.Notice, now time.Time) error {
	as := p.Payment()
	c := cause{by: order.ByProvider, at: now, why: n.Why(as.AllGone())}
	ends := as.AllGone() && slices.Contains(
		[]payment.State{payment.Received, payment.Stuck, payment.Closed}, p.State)
	write := func() error { return p.Save(tx.DB) }
	if ends {
		write = func() error { return tx.sendBack(p, &rows[0], c, "") }
	}
	if err := write(); err != nil {
		return err
	}
	if err := tx.paymentChanged(p, rows, n.News(), now); err != nil {
		return err
	}
	if ends && p.AcceptTime != nil && rows[0].Status == order.Paid {
		return tx.advance(rows, order.RequestRefund, c)
	}
	return writeHistory(tx, rows, c)
}

// TakeProgress implements service.PaymentLedger.
func (s Payments) TakeProgress(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error) {
	take := func(tx transaction, p *payments.Row, rows []orderRow) error {
		if err := p.From(n); err != nil {
			return err
		}
		progress, why, news := n.Progress()
		if progress == payment.ProgressProcessing && n.Amount != p.Amount {
			return fmt.Errorf("%w: %d, not %d", payment.ErrWrongAmount, n.Amount, p.Amount)
		}
		if p.State != payment.Open || progress <= p.Progress {
			return nil // repeated, or older than what is known
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		p.Progress, p.ProgressTime, p.ProgressUntil = progress, &now, sqlkit.Stamp(n.Until)
		p.Failure = payment.CheckedRefusal(n.Reason)
		if err := p.Save(tx.DB); err != nil {
			return err
		}
		if err := tx.waitForMoney(p, rows, now); err != nil {
			return err
		}
		if err := tx.paymentChanged(p, rows, news, now); err != nil {
			return err
		}
		return writeHistory(tx, rows, cause{by: order.ByProvider, at: now, why: why})
	}
	return s.withPayment(ctx, "taking the progress of", idempotency.Key{}, n.PaymentID, take)
}

// waitForMoney moves the deadline of a locked unpaid order: once to a later time, when money for it is under way first;
// and back to what a buyer has for another attempt, when none is under way any more.
func (tx transaction) waitForMoney(p *payments.Row, rows []orderRow, now time.Time) error {
	row := &rows[0]
	if row.Status != order.Unpaid || row.PayDeadline == nil {
		return nil
	}
	terms, err := tx.terms.of(tx.DB, []int64{row.VoucherID})
	if err != nil {
		return err
	}
	t := terms[row.VoucherID]
	wait := payment.Wait{Deadline: *row.PayDeadline, Until: sqlkit.At(p.ProgressUntil), Within: t.ProcessingWithin}
	deadline := wait.Deadline
	switch {
	case p.Progress == payment.ProgressProcessing && row.Processing == 0:
		row.Processing, deadline = isProcessing, wait.Moved()
	case p.Progress == payment.ProgressProcessing: // it moves once
		row.Processing = isProcessing
	case row.Processing == isProcessing:
		others, err := payments.OfOrder(tx.Where("progress = ?", payment.ProgressProcessing), row.ID, payment.Open)
		if err != nil || others != nil {
			return err
		}
		row.Processing, deadline = wasProcessing, wait.Given(now, t.PayWithin)
	default:
		return nil
	}
	row.PayDeadline = sqlkit.Stamp(deadline)
	err = tx.Model(row).Select("processing", "pay_deadline").Updates(row).Error
	return sqlkit.Wrapf(err, "moving the payment deadline of order %d", row.ID)
}

// Receive implements service.PaymentLedger.
func (s Payments) Receive(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error) {
	receive := func(tx transaction, p *payments.Row, rows []orderRow) error {
		if err := p.From(n); err != nil {
			return err
		}
		if n.Amount != p.Amount {
			return fmt.Errorf("%w: %d cents, not %d", payment.ErrWrongAmount, n.Amount, p.Amount)
		}
		if p.State != payment.Open {
			return nil // received before
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		p.ReceiveTime = &now
		if p.ReturnTime != nil { // its return was notified first: the money comes in and goes back now
			p.ReturnTime, p.GoneBefore = &now, 0
		}
		if p.LostTime != nil {
			p.LostTime, p.LostBefore = &now, 0
		}
		if n.Reference != "" { // the notice names the attempt that was paid, even if the buyer began twice
			p.Reference = n.Reference
		}
		r := receipt{tx: tx, now: now, payment: p, rows: rows}
		return r.use()
	}
	return s.withPayment(ctx, "receiving", idempotency.Key{}, n.PaymentID, receive)
}

// receipt is a payment that has just arrived, and its locked order.
type receipt struct {
	tx      transaction
	now     time.Time
	payment *payments.Row
	rows    []orderRow // the order alone
}

// use decides what the money is for.
func (r *receipt) use() error {
	if p := r.payment.Payment(); p.AllGone() { // the notice that it went back came first
		return r.refuse(order.ByProvider, reason.MoneyReturned)
	}
	switch row := r.rows[0]; row.Status {
	case order.Unpaid:
		over, err := r.tx.couponOver(row.VoucherID, r.now)
		switch {
		case err != nil:
			return err
		case over:
			return r.refuse(order.ByPayments, reason.SaleOver)
		}
		return r.pays(order.Pay, order.ByProvider, "")
	case order.Cancelled:
		other, err := payments.OfOrder(r.tx.DB, row.ID, payment.Late)
		if err != nil {
			return err
		}
		if other == nil {
			return r.late()
		}
	default:
	}
	return r.refuse(order.ByProvider, reason.PaidTwice)
}

// late tries to revive a cancelled order. Its unit was given back, so one has to be taken again; for a seckill order,
// Redis is asked first.
func (r *receipt) late() error {
	var sale saleRow
	var err error
	ofSale := r.rows[0].Kind == liveKind
	if ofSale {
		if sale, err = lockSale(r.tx, r.rows[0].VoucherID); err != nil {
			return err
		}
	}
	if err := r.note(order.ByProvider, reason.PaidLate); err != nil {
		return err
	}
	r.payment.State = payment.Late // until it is decided, which may be at once
	if err := r.tx.paymentChanged(r.payment, r.rows, payment.NewsReceived, r.now); err != nil {
		return err
	}
	if ofSale {
		return r.revive(&sale)
	}
	return r.reviveDirect()
}

// reviveDirect revives the order of an ordinary voucher, unless that would put the buyer over the voucher's perUser.
func (r *receipt) reviveDirect() error {
	v, err := findVoucher(r.tx.DB, r.rows[0].VoucherID)
	if err != nil {
		return err
	}
	if v.Redemption.Over(r.now) {
		return r.refuse(order.ByPayments, reason.SaleOver)
	}
	why := reason.NoLimit
	if v.PerUser > 0 {
		why = reason.BuyerBelowLimit
		err := claimLimited(r.tx, v, r.rows[0].UserID)
		if _, reached := errors.AsType[*order.LimitError](err); reached {
			return r.refuse(order.ByPayments, reason.BuyerAtLimit)
		}
		if err != nil {
			return err
		}
	}
	return r.pays(order.Revive, order.ByPayments, why)
}

// revive writes an operation that asks Redis for a unit. If the locked sale was called off or has left Redis for good,
// or its coupons are past their date, it sends the money back instead.
func (r *receipt) revive(sale *saleRow) error {
	over, err := r.tx.couponOver(sale.VoucherID, r.now)
	switch {
	case err != nil:
		return err
	case sale.CalledOff != nil:
		return r.refuse(order.ByPayments, reason.CalledOffSale)
	case sale.Retired, over:
		return r.refuse(order.ByPayments, reason.SaleOver)
	}
	row := r.rows[0]
	ops := []operationRow{orderOperation(row, operation.Revival, -row.units().Units(), order.ByPayments)}
	if err := r.tx.appendOperations(sale, ops, r.now); err != nil {
		return err
	}
	r.payment.State, r.payment.Operation = payment.Late, &ops[0].Number
	return r.payment.Save(r.tx.DB)
}

// pays makes the order paid with the payment.
func (r *receipt) pays(action order.Action, by order.Actor, why reason.Why) error {
	if err := r.payment.Accept(r.tx.DB, r.now); err != nil {
		return err
	}
	if err := r.tx.advance(r.rows, action, cause{by: by, at: r.now, why: why}); err != nil {
		return err
	}
	return payments.CancelOpen(r.tx.DB, r.tx.now, []int64{r.rows[0].ID}, r.payment.ID)
}

// note writes an event without changing the order.
func (r *receipt) note(by order.Actor, why reason.Why) error {
	return writeHistory(r.tx, r.rows, cause{by: by, at: r.now, why: why})
}

// refuse sends the money back, which is for nothing.
func (r *receipt) refuse(by order.Actor, why reason.Why) error {
	if err := r.note(by, why); err != nil {
		return err
	}
	news := payment.NewsReceived
	if why == reason.MoneyReturned {
		news = payment.NewsReturned
	}
	return r.tx.sendUnused(r.payment, r.rows, cause{by: by, at: r.now, why: why}, news)
}

// ReviveLate implements service.PaymentLedger.
func (s Payments) ReviveLate(ctx context.Context, n int) ([]int64, error) {
	var vouchers []int64
	err := s.write(ctx, func(tx transaction) error {
		vouchers = nil
		found, err := undecided(tx.Limit(n))
		if err != nil || len(found) == 0 {
			return err
		}
		orders, err := lockOrders(tx, sqlkit.Distinct(found, func(p payments.Row) int64 { return p.OrderID }))
		if err != nil {
			return err
		}
		sales, err := lockSales(tx, sqlkit.Distinct(slices.Collect(maps.Values(orders)),
			func(row *orderRow) int64 { return row.VoucherID }))
		if err != nil {
			return err
		}
		// Once more, now that no other transaction can decide about them.
		ids := sqlkit.Map(found, func(p *payments.Row) string { return p.ID })
		found, err = undecided(tx.Where("p.id IN ?", ids))
		if err != nil {
			return err
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		for _, p := range found {
			if err := tx.reviveOne(p, orders, sales, now); err != nil {
				return err
			}
		}
		vouchers = sqlkit.Distinct(found, func(p payments.Row) int64 { return p.VoucherID })
		return nil
	})
	return vouchers, sqlkit.ReadError("reviving orders with late payments", err)
}

// undecided returns late payments that no pending revival decides about, the oldest first.
func undecided(query *gorm.DB) ([]payments.Row, error) {
	var found []payments.Row
	err := query.Table("tb_payment p").Select("p.*").
		Joins("JOIN tb_voucher_order r ON r.id = p.order_id JOIN tb_voucher_operation o "+
			"ON o.voucher_id = p.voucher_id AND o.number = p.operation").
		Where("p.state = ? AND o.state <> ?", payment.Late, operationPending).
		Order("p.create_time, p.id").Find(&found).Error
	return found, sqlkit.Wrapf(err, "looking for late payments")
}

func (tx transaction) reviveOne(
	p payments.Row, orders map[int64]*orderRow, sales map[int64]saleRow, now time.Time,
) error {
	row, found := orders[p.OrderID]
	var sale saleRow
	sold := false
	if found {
		sale, sold = sales[row.VoucherID]
	}
	if !sold {
		return fmt.Errorf("payment %s is for order %d of voucher %d, which are not both there",
			p.ID, p.OrderID, p.VoucherID)
	}
	r := receipt{tx: tx, now: now, payment: &p, rows: []orderRow{*row}}
	if err := r.revive(&sale); err != nil {
		return err
	}
	sales[row.VoucherID] = sale
	return nil
}

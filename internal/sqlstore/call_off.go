package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/payments"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// CallOff implements voucher.Changes.
func (s Vouchers) CallOff(ctx context.Context, id int64, by voucher.Author, why string) (voucher.Voucher, error) {
	var v voucher.Voucher
	err := s.write(ctx, func(tx transaction) error {
		if err := tx.claimKey(by.Key, strconv.FormatInt(id, 10)); err != nil {
			return err
		}
		rows, err := lockVoucher(tx, id)
		switch {
		case err != nil:
			return err
		case rows.sale == nil:
			return voucher.ErrNotSeckill
		case rows.row.Archived != nil:
			return voucher.ErrArchived
		case rows.sale.CalledOff != nil:
			v = rows.voucher()
			return nil
		case rows.sale.Retired:
			return voucher.ErrRetired
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		c := change{tx: tx, now: now, by: by, voucherRows: rows}
		v, err = c.callOff(why)
		return err
	})
	return v, sqlkit.ReadError(fmt.Sprintf("calling off the sale of voucher %d", id), err)
}

// callOff calls the sale off and returns the changed voucher. The sale's window ends now, unless it has ended
// before. A window that has not begun becomes the millisecond before now, as no window is empty.
func (c *change) callOff(why string) (voucher.Voucher, error) {
	before := c.voucher()
	now := c.now.UTC().Truncate(time.Millisecond)
	c.sale.CalledOff = &now
	if now.Before(c.sale.EndTime) {
		c.sale.EndTime = now
	}
	if !c.sale.BeginTime.Before(c.sale.EndTime) {
		c.sale.BeginTime = c.sale.EndTime.Add(-time.Millisecond)
	}
	c.row.Version, c.row.UpdateTime = c.row.Version+1, c.now
	if err := c.writeVoucher(c.row); err != nil {
		return voucher.Voucher{}, err
	}
	if err := c.tx.Model(c.sale).Update("called_off", now).Error; err != nil {
		return voucher.Voucher{}, fmt.Errorf("writing that the sale is called off: %w", err)
	}
	begin, end := c.sale.BeginTime, c.sale.EndTime
	if err := c.writeSale([]operationRow{{
		Kind: operation.CallingOff, Actor: order.ByAdmin(c.by.AdminID), Mode: order.SaleCalledOff,
		BeginTime: &begin, EndTime: &end,
	}}); err != nil {
		return voucher.Voucher{}, err
	}
	if err := c.tx.resolve(c.sale.VoucherID, c.now); err != nil {
		return voucher.Voucher{}, err
	}
	v := c.voucher()
	changes := append(voucher.Differences(before, v), voucher.FieldChange{Field: "why", To: why})
	if err := sqlkit.WriteAudit(c.tx.DB, c.now, c.by,
		sqlkit.AuditRow{VoucherID: v.ID, Action: voucher.CalledOff, Changes: changes}); err != nil {
		return v, err
	}
	return v, c.tx.each(func(h sqlkit.Hook) error { return tell(c.tx, h.CalledOff, v) })
}

// Unwinds settles the orders of sales that were called off. It implements service.UnwindLedger.
type Unwinds struct{ *ledger }

// refundable is the condition that the money of a paid order o can go back: its payment has been received and nobody
// disputes it. Other orders are left to staff.
const refundable = "EXISTS (SELECT 1 FROM tb_payment p WHERE p.order_id = o.id AND p.state = @received AND " +
	"p.dispute <> @disputed)"

// disputed is the condition that the payment of a paid order o is disputed. A refund could send its money back twice.
const disputed = "EXISTS (SELECT 1 FROM tb_payment p WHERE p.order_id = o.id AND p.state = @received AND " +
	"p.dispute = @disputed)"

// stuck is the condition that a provider has finally refused to send money of an order o back.
const stuck = "o.id IN (SELECT p.order_id FROM tb_payment p WHERE p.voucher_id = @voucher AND p.state = @stuck)"

// onItsWay is the condition that money of an order o is going back.
const onItsWay = "EXISTS (SELECT 1 FROM tb_payment p WHERE p.order_id = o.id AND p.state = @back)"

// fateOf is what calling a sale off means for an order o: one of order's fates.
const fateOf = "CASE WHEN o.status = @unpaid THEN 'unpaid' WHEN o.status = @paid AND o.amount = 0 THEN 'free' " +
	"WHEN o.status = @paid AND " + refundable + " THEN 'paid' WHEN o.status = @paid AND " + disputed +
	" THEN 'disputed' WHEN o.status = @paid THEN 'no_payment' " +
	"WHEN o.status = @redeemed THEN 'redeemed' WHEN o.status = @lapsed THEN 'lapsed' " +
	"WHEN o.status = @refunding AND " + stuck + " AND NOT " + onItsWay + " THEN 'stuck' " +
	"WHEN o.status = @refunding THEN 'refunding' WHEN o.status = @refunded THEN 'refunded' " +
	"WHEN o.status = @cancelled THEN 'cancelled' ELSE 'failed' END"

// leftFate is fateOf for an order that is left to staff. An order that has ended may have stuck money, too, if it was
// paid late or twice. fateOf counts such an order by how it ended, since it has no unit.
const leftFate = "CASE WHEN o.status NOT IN (@unpaid, @paid, @redeemed, @lapsed) AND " + stuck +
	" THEN 'stuck' ELSE " + fateOf + " END"

// fateNames returns the values of the named parameters in the conditions above.
func fateNames(voucherID int64) map[string]any {
	return map[string]any{
		"voucher": voucherID, "received": payment.Received, "unpaid": order.Unpaid, "paid": order.Paid,
		"redeemed": order.Redeemed, "lapsed": order.Lapsed, "refunding": order.Refunding, "refunded": order.Refunded,
		"cancelled": order.Cancelled, "disputed": payment.DisputeOpen, "stuck": payment.Stuck,
		"back": payment.Refunding,
	}
}

// SalesToUnwind implements service.UnwindLedger.
func (s Unwinds) SalesToUnwind(ctx context.Context) (ids []int64, err error) {
	err = s.db.Read(ctx).Model(&saleRow{}).Where("retired = ? AND called_off IS NOT NULL", false).
		Order("voucher_id").Pluck("voucher_id", &ids).Error
	return ids, sqlkit.ReadError("looking for sales that were called off", err)
}

// Unwind implements service.UnwindLedger. It waits for orders that another transaction has locked: tills, buyers and
// notices of payments hold them briefly.
func (s Unwinds) Unwind(
	ctx context.Context, token, voucherID, above int64, n int,
) (unwound []order.Order, last int64, err error) {
	err = s.write(ctx, func(tx transaction) error {
		unwound, last = nil, 0
		if err := sqlkit.RaiseFence(tx.DB, order.UnwinderJob, token); err != nil {
			return err
		}
		names := fateNames(voucherID)
		names["above"], names["n"] = above, n
		var ids []int64
		err := tx.Raw("SELECT o.id FROM tb_voucher_order o WHERE o.voucher_id = @voucher AND o.id > @above AND "+
			"(o.status = @unpaid OR o.status = @paid AND o.amount > 0 AND "+refundable+") ORDER BY o.id LIMIT @n",
			names).Find(&ids).Error
		if err != nil {
			return fmt.Errorf("looking for orders to unwind: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		last = ids[len(ids)-1]
		unwound, err = tx.unwind(ids)
		return err
	})
	return unwound, last, sqlkit.ReadError(fmt.Sprintf("unwinding orders of voucher %d", voucherID), err)
}

// unwind locks the orders, cancels those that are unpaid, and begins to refund those that are paid. Cancelling comes
// last, as it locks the sale.
func (tx transaction) unwind(ids []int64) ([]order.Order, error) {
	locked, err := lockOrders(tx, ids)
	if err != nil {
		return nil, err
	}
	now, err := tx.now()
	if err != nil {
		return nil, err
	}
	var unpaid, paid []orderRow
	for _, id := range ids {
		switch row, found := locked[id]; {
		case !found:
		case row.Status == order.Unpaid:
			unpaid = append(unpaid, *row)
		case row.Status == order.Paid && row.Amount > 0:
			paid = append(paid, *row)
		}
	}
	c := cause{by: order.ByUnwinder, at: now, why: reason.CalledOffSale}
	if paid, err = tx.refundAll(paid, c); err != nil {
		return nil, err
	}
	if err := tx.advance(unpaid, order.Cancel, c); err != nil {
		return nil, err
	}
	return sqlkit.Map(append(paid, unpaid...), (*orderRow).order), nil
}

// refundAll begins to refund the locked, paid orders that have a payment to send back, and returns those orders.
func (tx transaction) refundAll(paid []orderRow, c cause) ([]orderRow, error) {
	oldest := make(map[int64]string, len(paid)) // order id → its oldest received payment
	for part := range sqlkit.Chunks(sqlkit.Map(paid, (*orderRow).id)) {
		var rows []payments.Row
		err := tx.Select("id", "order_id").Where("order_id IN ? AND state = ? AND dispute <> ?", part,
			payment.Received, payment.DisputeOpen).Order("create_time DESC, number DESC").Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("reading the payments of %d orders: %w", len(part), err)
		}
		for i := range rows {
			oldest[rows[i].OrderID] = rows[i].ID
		}
	}
	var rows []orderRow
	var ids []string
	for i := range paid {
		if id, has := oldest[paid[i].ID]; has {
			rows, ids = append(rows, paid[i]), append(ids, id)
		}
	}
	for part := range sqlkit.Chunks(ids) {
		err := tx.Model(&payments.Row{}).Where("id IN ?", part).
			Updates(map[string]any{"state": payment.Refunding, "refunding_time": c.at}).Error
		if err != nil {
			return nil, fmt.Errorf("sending %d payments back: %w", len(part), err)
		}
	}
	return rows, tx.advance(rows, order.RequestRefund, c)
}

// Unwinding implements shop.Ledger. One statement counts the orders, so that each is counted once.
func (s Unwinds) Unwinding(ctx context.Context, voucherID int64) (order.Unwinding, error) {
	var sales []saleRow
	var rows []struct {
		Fate                 order.Fate
		Since                bool
		Orders, Units, Cents int64
	}
	err := s.db.Read(ctx).Where("voucher_id = ?", voucherID).Find(&sales).Error
	if err == nil && len(sales) > 0 {
		names := fateNames(voucherID)
		names["since"], names["purged"] = sqlkit.At(sales[0].CalledOff), order.FatePurged
		err = s.db.Read(ctx).Raw("SELECT fate, since, COUNT(*) AS orders, SUM(quantity) AS units, "+
			"SUM(amount) AS cents FROM (SELECT "+fateOf+" AS fate, "+
			"CASE WHEN COALESCE(o.refunding_time, o.refund_time, o.cancel_time) >= @since THEN 1 ELSE 0 END AS since, "+
			"o.quantity, o.amount FROM tb_voucher_order o WHERE o.voucher_id = @voucher) f GROUP BY fate, since "+
			"UNION ALL SELECT @purged, 1, orders, 0, 0 FROM tb_purge WHERE voucher_id = @voucher",
			names).Find(&rows).Error
	}
	if err != nil {
		return order.Unwinding{}, sqlkit.ReadError(fmt.Sprintf("counting the orders of voucher %d", voucherID), err)
	}
	u := order.Unwinding{Orders: make(map[order.Fate]order.Tally), Before: make(map[order.Fate]order.Tally)}
	for i := range sales {
		u.CalledOff, u.Retired = sqlkit.At(sales[i].CalledOff), sales[i].Retired
		u.Withdrawn, u.Kept, u.Issued = sales[i].Stock, sales[i].Kept, sales[i].Issued
	}
	for _, row := range rows {
		t := order.Tally{Orders: row.Orders, Units: row.Units, Cents: row.Cents}
		if !row.Since && (row.Fate == order.FateCancelled || row.Fate == order.FateRefunded) {
			u.Before[row.Fate] = u.Before[row.Fate].Plus(t)
			continue
		}
		u.Orders[row.Fate] = u.Orders[row.Fate].Plus(t)
	}
	return u, nil
}

// LeftToStaff implements shop.Ledger.
func (s Unwinds) LeftToStaff(ctx context.Context, voucherID, before int64, n int) ([]order.LeftOrder, error) {
	names := fateNames(voucherID)
	names["before"], names["n"] = before, n
	type left struct {
		Order orderRow   `gorm:"embedded"`
		Fate  order.Fate `gorm:"column:fate"`
	}
	query := s.db.Read(ctx).Raw("SELECT o.*, "+leftFate+" AS fate FROM tb_voucher_order o "+
		"WHERE o.voucher_id = @voucher "+
		"AND o.id < @before AND (o.status IN (@redeemed, @lapsed) OR o.status = @paid AND (o.amount = 0 OR NOT "+
		refundable+") OR o.status NOT IN (@unpaid, @paid) AND "+stuck+") ORDER BY o.id DESC LIMIT @n",
		names)
	return sqlkit.List(query, fmt.Sprintf("reading what is left to staff of voucher %d", voucherID),
		func(l *left) order.LeftOrder { return order.LeftOrder{Order: l.Order.order(), Fate: l.Fate} })
}

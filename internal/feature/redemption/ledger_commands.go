package redemption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

// Do implements Coupons.
func (l *Ledger) Do(ctx context.Context, cmds []Command) ([]Outcome, error) {
	what := fmt.Sprintf("doing %d commands of tills", len(cmds))
	ids, err := l.ordersWithCodes(ctx, cmds)
	if err != nil {
		return nil, sqlkit.ReadError(what, err)
	}
	outcomes := make([]Outcome, len(cmds))
	if len(ids) == 0 {
		for i := range outcomes {
			outcomes[i].Err = ErrNotFound
		}
		return outcomes, nil
	}
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		w, err := l.openCoupons(tx, slices.Sorted(maps.Values(ids)))
		if err != nil {
			return err
		}
		for i, cmd := range cmds {
			outcomes[i] = w.do(cmd, ids[cmd.Code])
		}
		return w.save()
	})
	return outcomes, sqlkit.ReadError(what, err)
}

// ordersWithCodes returns the orders that have the commands' codes. No transaction is needed: codes never change.
func (l *Ledger) ordersWithCodes(ctx context.Context, cmds []Command) (map[Code]int64, error) {
	codes := sqlkit.Distinct(cmds, func(cmd Command) Code { return cmd.Code })
	var rows []couponRow
	if err := l.db.Read(ctx).Select("order_id", "code").Where("code IN ?", codes).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("looking for codes: %w", err)
	}
	ids := make(map[Code]int64, len(rows))
	for i := range rows {
		ids[rows[i].Code] = rows[i].OrderID
	}
	return ids, nil
}

// couponWork is one transaction on coupons, whose orders it has locked.
type couponWork struct {
	ledger  *Ledger
	tx      *gorm.DB
	now     time.Time
	orders  map[int64]order.Order
	rows    map[int64]*couponRow
	coupons map[int64]*Coupon

	changed  map[int64]bool
	redeemed []order.Step
	lines    []order.Line // history of the changes that are no steps
}

// errNoOrder is the error for a coupon without an order. This cannot happen, because a coupon is deleted together with
// its order.
var errNoOrder = errors.New("there is a coupon and no order")

func (l *Ledger) openCoupons(tx *gorm.DB, ids []int64) (w couponWork, err error) {
	w = couponWork{
		ledger: l, tx: tx, coupons: make(map[int64]*Coupon, len(ids)), changed: make(map[int64]bool),
	}
	if w.orders, err = l.orders.Lock(tx, ids); err != nil {
		return w, err
	}
	if w.rows, err = couponsOf(tx, ids); err != nil {
		return w, err
	}
	calledOff, err := salesCalledOff(tx, w.orders)
	if err != nil {
		return w, err
	}
	barred, err := barredOrders(tx, ids)
	if err != nil {
		return w, err
	}
	for id, row := range w.rows {
		o, found := w.orders[id]
		if !found {
			return w, fmt.Errorf("%w: %d", errNoOrder, id)
		}
		c := row.coupon(o)
		c.CalledOff = slices.Contains(calledOff, o.VoucherID)
		dispute, bars := barred[id]
		c.Disputed = slices.Contains(payment.BarringDisputes(), dispute)
		c.Returned = bars && !c.Disputed
		w.coupons[id] = &c
	}
	w.now, err = l.db.LedgerTime(tx)
	return w, err
}

// salesCalledOff returns the vouchers of the locked orders whose sales were called off.
func salesCalledOff(tx *gorm.DB, orders map[int64]order.Order) (ids []int64, err error) {
	vouchers := sqlkit.Distinct(slices.Collect(maps.Values(orders)), func(o order.Order) int64 { return o.VoucherID })
	err = tx.Table("tb_seckill_voucher").Where("voucher_id IN ? AND called_off IS NOT NULL", vouchers).
		Pluck("voucher_id", &ids).Error
	if err != nil {
		return nil, fmt.Errorf("reading which of %d sales were called off: %w", len(vouchers), err)
	}
	return ids, nil
}

// barredOrders returns the locked orders that tills must refuse for their payment, each with its dispute: that is open
// or lost, or the money goes back or has gone back, and staff have made the order paid again since. A payment is
// written under the lock of its order, so it stays as it is until the transaction ends.
func barredOrders(tx *gorm.DB, orders []int64) (map[int64]payment.Dispute, error) {
	var rows []struct {
		OrderID int64
		Dispute payment.Dispute
	}
	err := tx.Table("tb_payment").Where("order_id IN ? AND accept_time IS NOT NULL AND (state <> ? OR dispute IN ?)",
		orders, payment.Received, payment.BarringDisputes()).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("reading the payments of %d orders: %w", len(orders), err)
	}
	barred := make(map[int64]payment.Dispute, len(rows))
	for _, r := range rows {
		barred[r.OrderID] = r.Dispute
	}
	return barred, nil
}

// do executes one command on the coupon of the order with the id; 0: no order has the code.
func (w *couponWork) do(cmd Command, id int64) Outcome {
	c, found := w.coupons[id]
	if !found {
		return Outcome{Err: ErrNotFound, At: w.now}
	}
	outcome, changed := c.Do(cmd, w.now)
	if !changed {
		return outcome
	}
	w.changed[id] = true
	by, why := cmd.Till.Actor(), outcome.Why(cmd.Verb)
	if cmd.Verb == Redeem {
		w.redeemed = append(w.redeemed, order.Step{Order: w.orders[id], By: by, Why: why})
		return outcome
	}
	w.lines = append(w.lines, order.Line{
		OrderID: id, Event: order.Event{Status: c.Status, At: w.now, By: by, Why: why},
	})
	return outcome
}

// save writes the changed coupons and orders, and the lines of histories, in a few statements for all commands.
func (w *couponWork) save() error {
	if len(w.changed) == 0 {
		return nil
	}
	rows := make([]couponRow, 0, len(w.changed))
	for _, id := range slices.Sorted(maps.Keys(w.changed)) {
		w.rows[id].take(*w.coupons[id])
		rows = append(rows, *w.rows[id])
	}
	if err := saveCoupons(w.tx, rows); err != nil {
		return err
	}
	if err := w.ledger.orders.Note(w.tx, w.lines); err != nil {
		return err
	}
	_, err := w.ledger.orders.Advance(w.tx, order.Redeem, w.now, w.redeemed) // the advanced orders are not needed
	return err
}

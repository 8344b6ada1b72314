package redemption

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// LapseDue implements Coupons. Orders that another transaction has locked are waited for: tills hold them briefly.
func (l *Ledger) LapseDue(ctx context.Context, token int64, n int) (lapsed []order.Order, seen int, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		lapsed = nil
		if err := sqlkit.RaiseFence(tx, lapserJob, token); err != nil {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		var due []int64
		err = tx.Model(&couponRow{}).Where("due_time <= ? AND (reserved_until IS NULL OR reserved_until <= ?)",
			now, now).
			Order("due_time, order_id").Limit(n).Pluck("order_id", &due).Error
		if err != nil {
			return fmt.Errorf("looking for due coupons: %w", err)
		}
		if seen = len(due); seen == 0 {
			return nil
		}
		lapsed, err = l.lapse(tx, due)
		return err
	})
	if err != nil {
		return nil, 0, sqlkit.ReadError(fmt.Sprintf("lapsing %d due coupons", n), err)
	}
	return lapsed, seen, nil
}

// lapse locks the orders and lapses those that are paid and not reserved. Only the reserved ones, and those that staff
// have extended meanwhile, are looked at again later.
func (l *Ledger) lapse(tx *gorm.DB, due []int64) ([]order.Order, error) {
	orders, err := l.orders.Lock(tx, due)
	if err != nil {
		return nil, err
	}
	coupons, err := couponsOf(tx, due)
	if err != nil {
		return nil, err
	}
	now, err := l.db.LedgerTime(tx)
	if err != nil {
		return nil, err
	}
	var lapsing []order.Step
	var done []couponRow
	for _, id := range due {
		o, found := orders[id]
		if !found {
			return nil, fmt.Errorf("there is a coupon and no order %d", id)
		}
		coupon := coupons[id].coupon(o)
		if coupon.Reserved(now) || !coupon.Past(now) { // staff may have extended it since it was found
			continue
		}
		if o.Status == order.Paid {
			lapsing = append(lapsing, order.Step{Order: o, By: ByLapser, Why: order.NotRedeemed})
		}
		coupons[id].DueTime = nil
		done = append(done, *coupons[id])
	}
	if err := saveCoupons(tx, done); err != nil {
		return nil, err
	}
	return l.orders.Advance(tx, order.Lapse, now, lapsing)
}

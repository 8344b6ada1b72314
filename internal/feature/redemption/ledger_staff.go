package redemption

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/moment"
	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

var _ StaffLedger = (*Ledger)(nil)

// Extend implements StaffLedger.
func (l *Ledger) Extend(ctx context.Context, act order.StaffAct, until time.Time) (Coupon, error) {
	return l.forStaff(ctx, act, func(c *Coupon, now time.Time) (d deed, err error) {
		before := c.ValidUntil
		d.audited, d.why = voucher.CouponExtended, reason.ExtendedUntil(until)
		d.change = voucher.FieldChange{Field: "validUntil", From: stored(before), To: stored(until)}
		d.action, d.done, err = c.Extend(until, now)
		return d, err
	})
}

// Unredeem implements StaffLedger.
func (l *Ledger) Unredeem(ctx context.Context, act order.StaffAct) (Coupon, error) {
	return l.forStaff(ctx, act, func(c *Coupon, _ time.Time) (deed, error) {
		by := string(Till{ID: c.RedeemedBy}.Actor())
		return deed{
			action: order.Unredeem, done: true, why: reason.Unredeemed, audited: voucher.CouponUnredeemed,
			change: voucher.FieldChange{Field: "redeemedBy", From: by},
		}, c.Unredeem()
	})
}

// Coupon implements StaffLedger.
func (l *Ledger) Coupon(ctx context.Context, orderID int64) (c Coupon, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		_, found, err := l.openCoupon(tx, orderID)
		if err == nil {
			c = *found
		}
		return err
	})
	return c, sqlkit.ReadError(fmt.Sprintf("reading the coupon of order %d for staff", orderID), err)
}

// stored returns a time as the audit trail writes it.
func stored(t time.Time) string { return moment.Of(t).String() }

// openCoupon locks an order and returns its coupon.
func (l *Ledger) openCoupon(tx *gorm.DB, orderID int64) (couponWork, *Coupon, error) {
	w, err := l.openCoupons(tx, []int64{orderID})
	if err != nil {
		return w, nil, err
	}
	if _, found := w.orders[orderID]; !found {
		return w, nil, order.ErrNotFound
	}
	c, found := w.coupons[orderID]
	if !found {
		return w, nil, ErrNotFound
	}
	return w, c, nil
}

// deed is a change of a coupon by staff.
type deed struct {
	action  order.Action
	done    bool // false: nothing had to be changed
	why     reason.Why
	audited voucher.Action
	change  voucher.FieldChange
}

// forStaff applies an act of staff to the coupon of an order.
func (l *Ledger) forStaff(
	ctx context.Context, act order.StaffAct, do func(c *Coupon, now time.Time) (deed, error),
) (c Coupon, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if err := sqlkit.ClaimKey(tx, now, act.By.Key, act.Made()); err != nil {
			return err
		}
		w, coupon, err := l.openCoupon(tx, act.OrderID)
		if err != nil {
			return err
		}
		d, err := do(coupon, w.now)
		if c = *coupon; err != nil || !d.done {
			return err
		}
		return w.saveForStaff(act, d, c)
	})
	return c, sqlkit.ReadError(fmt.Sprintf("changing the coupon of order %d for staff", act.OrderID), err)
}

// saveForStaff writes the coupon, its order and the entry of the audit trail. The lapser looks at the coupon again.
func (w *couponWork) saveForStaff(act order.StaffAct, d deed, c Coupon) error {
	o, row := w.orders[c.OrderID], w.rows[c.OrderID]
	row.take(c)
	row.ValidUntil = sqlkit.Stamp(c.ValidUntil)
	row.DueTime = row.ValidUntil
	if err := saveCoupons(w.tx, []couponRow{*row}); err != nil {
		return err
	}
	step := order.Step{Order: o, By: act.Actor(), Why: d.why}
	if _, err := w.ledger.orders.Advance(w.tx, d.action, w.now, []order.Step{step}); err != nil {
		return err
	}
	return sqlkit.WriteAudit(w.tx, w.now, act.By, sqlkit.AuditRow{
		VoucherID: c.VoucherID, Action: d.audited, Changes: act.Audited(o.Status, c.Status, d.change),
	})
}

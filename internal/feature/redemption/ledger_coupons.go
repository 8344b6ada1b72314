package redemption

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
)

type couponRow struct {
	OrderID       int64      `gorm:"column:order_id;primaryKey;autoIncrement:false"`
	Code          Code       `gorm:"column:code"`
	VoucherID     int64      `gorm:"column:voucher_id"`
	ShopID        int64      `gorm:"column:shop_id"`
	ValidUntil    *time.Time `gorm:"column:valid_until"`
	DueTime       *time.Time `gorm:"column:due_time"`
	Reservation   *string    `gorm:"column:reservation"`
	ReservedBy    *int64     `gorm:"column:reserved_by"`
	ReserveKey    *string    `gorm:"column:reserve_key"`
	ReservedUntil *time.Time `gorm:"column:reserved_until"`
	EndedRequests string     `gorm:"column:ended_requests"`
	RedeemedBy    *int64     `gorm:"column:redeemed_by"`
	RedeemKey     *string    `gorm:"column:redeem_key"`
	CreateTime    time.Time  `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (*couponRow) TableName() string { return "tb_coupon" }

// coupon returns the coupon of an order. Its state comes from the order.
func (r *couponRow) coupon(o order.Order) Coupon {
	c := Coupon{
		OrderID: r.OrderID, VoucherID: r.VoucherID, ShopID: r.ShopID, Code: r.Code, Quantity: o.Quantity,
		Status: o.Status, ValidUntil: sqlkit.At(r.ValidUntil), RedeemedAt: o.RedeemedAt,
		Ended: EndedRequests(r.EndedRequests),
	}
	if r.Reservation != nil && r.ReservedBy != nil && r.ReserveKey != nil {
		c.Reservation = Reservation{
			ID: *r.Reservation, Till: *r.ReservedBy, Key: *r.ReserveKey, Until: sqlkit.At(r.ReservedUntil),
		}
	}
	if r.RedeemedBy != nil && r.RedeemKey != nil {
		c.RedeemedBy, c.RedeemKey = *r.RedeemedBy, *r.RedeemKey
	}
	return c
}

// take copies the fields that tills change from a coupon into its row.
func (r *couponRow) take(c Coupon) {
	r.Reservation, r.ReservedBy, r.ReserveKey, r.ReservedUntil = nil, nil, nil, nil
	r.RedeemedBy, r.RedeemKey = nil, nil
	r.EndedRequests = string(c.Ended)
	if held := c.Reservation; held.ID != "" {
		r.Reservation, r.ReservedBy, r.ReserveKey, r.ReservedUntil = &held.ID, &held.Till, &held.Key, &held.Until
	}
	if c.Status == order.Redeemed {
		r.RedeemedBy, r.RedeemKey, r.DueTime = &c.RedeemedBy, &c.RedeemKey, nil
	}
}

// couponsOf returns the coupons of orders, by order id. A caller that is about to change them has locked the orders.
func couponsOf(tx *gorm.DB, orderIDs []int64) (map[int64]*couponRow, error) {
	coupons := make(map[int64]*couponRow, len(orderIDs))
	for part := range sqlkit.Chunks(orderIDs) {
		var rows []couponRow
		if err := tx.Where("order_id IN ?", part).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("reading %d coupons: %w", len(orderIDs), err)
		}
		for i := range rows {
			coupons[rows[i].OrderID] = &rows[i]
		}
	}
	return coupons, nil
}

// saveCoupons writes the rows, which exist.
func saveCoupons(tx *gorm.DB, rows []couponRow) error {
	for part := range sqlkit.Chunks(rows) {
		changes := clause.AssignmentColumns([]string{
			"valid_until", "due_time", "reservation", "reserved_by", "reserve_key", "reserved_until", "ended_requests",
			"redeemed_by", "redeem_key",
		})
		err := tx.Clauses(
			clause.OnConflict{Columns: []clause.Column{{Name: "order_id"}}, DoUpdates: changes}).Create(&part).Error
		if err != nil {
			return fmt.Errorf("writing %d coupons: %w", len(rows), err)
		}
	}
	return nil
}

// CouponOf implements Coupons.
func (l *Ledger) CouponOf(ctx context.Context, o order.Order) (Coupon, error) {
	what := fmt.Sprintf("reading the coupon of order %d", o.ID)
	terms, err := l.orders.Terms(l.db.Read(ctx), []int64{o.VoucherID})
	if err != nil {
		return Coupon{}, sqlkit.ReadError(what, err)
	}
	if !terms[o.VoucherID].Redemption.ByCode {
		return Coupon{}, ErrNotFound
	}
	coupons, err := couponsOf(l.db.Read(ctx), []int64{o.ID})
	if err == nil && coupons[o.ID] == nil && o.Status == order.Paid {
		o, coupons, err = l.issueMissing(ctx, o)
	}
	switch {
	case err != nil:
		return Coupon{}, sqlkit.ReadError(what, err)
	case coupons[o.ID] == nil:
		return Coupon{}, ErrNotFound
	}
	return coupons[o.ID].coupon(o), nil
}

// Coupons returns the coupons of orders, by order, without the fields that come from the order's row.
func (l *Ledger) Coupons(ctx context.Context, orderIDs []int64) (map[int64]Coupon, error) {
	rows, err := couponsOf(l.db.Read(ctx), orderIDs)
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("reading the coupons of %d orders", len(orderIDs)), err)
	}
	coupons := make(map[int64]Coupon, len(rows))
	for id, row := range rows {
		coupons[id] = row.coupon(order.Order{})
	}
	return coupons, nil
}

// OrderOfCode returns the order of a code; 0 if there is none. Error: order.ErrUnavailable.
func (l *Ledger) OrderOfCode(ctx context.Context, code Code) (orderID int64, err error) {
	err = l.db.Read(ctx).Model(&couponRow{}).Select("order_id").Where("code = ?", code).Limit(1).Find(&orderID).Error
	return orderID, sqlkit.ReadError("finding the order of a code", err)
}

// issueMissing gives a paid order a code if it has none, because an older version of the service recorded the payment,
// or because there was no key. It returns the order as it was read under the lock.
func (l *Ledger) issueMissing(
	ctx context.Context, o order.Order,
) (now order.Order, coupons map[int64]*couponRow, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		locked, err := l.orders.Lock(tx, []int64{o.ID})
		if err != nil {
			return err
		}
		var found bool
		if now, found = locked[o.ID]; !found {
			return order.ErrNotFound
		}
		if coupons, err = couponsOf(tx, []int64{o.ID}); err != nil || coupons[o.ID] != nil ||
			now.Status != order.Paid {
			return err
		}
		terms, err := l.orders.Terms(tx, []int64{o.VoucherID})
		if err != nil {
			return err
		}
		at, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if err := l.issueCoupons(tx, []couponRow{newCouponRow(now, terms[o.VoucherID], at)}); err != nil {
			return err
		}
		coupons, err = couponsOf(tx, []int64{o.ID})
		return err
	})
	return now, coupons, err
}

// LapseDue implements Coupons. It waits for orders that another transaction has locked: tills lock them briefly.
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
	return lapsed, seen, sqlkit.ReadError(fmt.Sprintf("lapsing %d due coupons", n), err)
}

// lapse locks the orders and lapses those that are paid and not reserved. Reserved coupons, and coupons that staff have
// extended meanwhile, stay due; no others are looked at again.
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
		if coupon.Reserved(now) || !coupon.Past(now) { // a till or staff may have changed the coupon since it was found
			continue
		}
		if o.Status == order.Paid {
			lapsing = append(lapsing, order.Step{Order: o, By: ByLapser, Why: reason.NotRedeemed})
		}
		coupons[id].DueTime = nil
		done = append(done, *coupons[id])
	}
	if err := saveCoupons(tx, done); err != nil {
		return nil, err
	}
	return l.orders.Advance(tx, order.Lapse, now, lapsing)
}

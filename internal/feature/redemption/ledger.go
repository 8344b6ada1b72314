package redemption

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// Ledger keeps coupons in the ledger's database, and the keys of their codes. It is safe for concurrent use.
type Ledger struct {
	db     *sqlkit.DB
	orders sqlkit.Orders
	key    atomic.Pointer[keyInUse]
}

var _ Coupons = (*Ledger)(nil)

// NewLedger returns a ledger that makes no codes until it has read the keys (CouponKeys).
func NewLedger(db *sqlkit.DB, orders sqlkit.Orders) *Ledger {
	return &Ledger{db: db, orders: orders}
}

// codeTries is how many random codes are tried; it is most unlikely that even two in a row are taken.
const codeTries = 5

// Hook returns the hook that makes the codes of paid orders, refuses refunds while a till has reserved the coupon, and
// ends reservations when a sale is called off.
func (l *Ledger) Hook() sqlkit.Hook {
	return sqlkit.Hook{
		May: checkRefund,
		Wants: func(t order.Terms, to order.Status) bool {
			return (to == order.Paid || to == order.Refunding) && t.Redemption.ByCode
		},
		Changed: func(tx *gorm.DB, changes []order.Change) error {
			if err := endReservations(tx, changes); err != nil {
				return err
			}
			var coupons []couponRow
			for _, c := range changes {
				if c.Action.Pays() { // otherwise the order was paid before, and has its code
					coupons = append(coupons, newCouponRow(c.Order, c.Terms, c.At))
				}
			}
			if len(coupons) == 0 {
				return nil
			}
			if err := l.issueCoupons(tx, coupons); !errors.Is(err, ErrKeySpoilt) { // codes can be made later (CouponOf)
				return err
			}
			return nil
		},
		Removed: func(tx *gorm.DB, orders []int64) error {
			for part := range sqlkit.Chunks(orders) {
				if err := tx.Where("order_id IN ?", part).Delete(&couponRow{}).Error; err != nil {
					return fmt.Errorf("removing coupons: %w", err)
				}
			}
			return nil
		},
	}
}

// endReservations ends the reservations of coupons that are refunded because their sale was called off. A till that
// still names one is refused.
func endReservations(tx *gorm.DB, changes []order.Change) error {
	var ids []int64
	for _, c := range changes {
		if c.Action == order.RequestRefund && c.By == order.ByUnwinder {
			ids = append(ids, c.Order.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	coupons, err := couponsOf(tx, ids)
	if err != nil {
		return err
	}
	var ended []couponRow
	for _, id := range ids {
		row := coupons[id]
		if row == nil || row.Reservation == nil {
			continue
		}
		c := row.coupon(order.Order{ID: id, Status: order.Refunding})
		c.end()
		row.take(c)
		ended = append(ended, *row)
	}
	return saveCoupons(tx, ended)
}

// newCouponRow returns the row of a paid order's coupon, without its code.
func newCouponRow(o order.Order, t order.Terms, now time.Time) couponRow {
	until := sqlkit.Stamp(t.Redemption.Until(cmp.Or(o.PaidAt, now)))
	return couponRow{
		OrderID: o.ID, VoucherID: o.VoucherID, ShopID: t.ShopID, ValidUntil: until, DueTime: until, CreateTime: now,
	}
}

// issueCoupons stores the coupons with their codes. With ErrKeySpoilt nothing was written.
func (l *Ledger) issueCoupons(tx *gorm.DB, coupons []couponRow) error {
	key, err := l.currentKey()
	if err != nil {
		return err
	}
	for part := range sqlkit.Chunks(coupons) {
		if err := issue(tx, key, part); err != nil {
			return err
		}
	}
	return nil
}

// issue stores coupons under unused codes: with one statement, unless a code is taken.
func issue(tx *gorm.DB, key Key, rows []couponRow) error {
	for i := range rows {
		rows[i].Code = key.NewCode()
	}
	err := tx.Create(&rows).Error
	switch {
	case err == nil:
		return nil
	case !sqlkit.IsDuplicate(err):
		return fmt.Errorf("storing the coupons of %d orders: %w", len(rows), err)
	}
	for i := range rows { // a code was taken: the statement changed nothing, and the transaction goes on
		if err := issueOne(tx, key, &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// issueOne stores a coupon under an unused code.
func issueOne(tx *gorm.DB, key Key, row *couponRow) (err error) {
	for range codeTries {
		row.Code = key.NewCode()
		err = tx.Create(row).Error
		if !sqlkit.IsDuplicate(err) { // after a duplicate, which changes nothing, the transaction goes on
			break
		}
	}
	switch {
	case sqlkit.IsDuplicate(err): // not wrapped: callers take a duplicate for one of another table
		return fmt.Errorf("no code for order %d: %s", row.OrderID, err.Error())
	case err != nil:
		return fmt.Errorf("storing the coupon of order %d: %w", row.OrderID, err)
	}
	return nil
}

// checkRefund returns an error if a locked, paid order cannot be refunded now: a till has reserved its coupon, or the
// coupon's date has passed and the lapser has not reached it yet.
func checkRefund(tx *gorm.DB, asked order.Change) error {
	if asked.Action != order.RequestRefund || !asked.Terms.Redemption.ByCode {
		return nil
	}
	id := asked.Order.ID
	coupons, err := couponsOf(tx, []int64{id})
	if err != nil || coupons[id] == nil {
		return err
	}
	c := coupons[id].coupon(asked.Order)
	switch {
	case c.Reserved(asked.At):
		return &order.NotNowError{Why: ErrReserved}
	case c.Past(asked.At):
		return order.RequestRefund.Check(id, order.Lapsed)
	}
	return nil
}

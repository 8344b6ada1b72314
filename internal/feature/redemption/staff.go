package redemption

import (
	"context"
	"errors"
	"time"

	"seckill/internal/order"
)

// ErrNotLater is the error for a coupon without a date, or for a new date that is not after the old one or has passed.
var ErrNotLater = errors.New("not a later date for the coupon")

// Unredeem undoes the redemption. Redeeming the coupon again needs another key, so that a late repetition of the first
// request does not redeem it.
func (c *Coupon) Unredeem() error {
	if err := order.Unredeem.Check(c.OrderID, c.Status); err != nil {
		return err
	}
	c.Ended = c.Ended.with(c.RedeemedBy, redeemRequest(c.RedeemKey))
	c.Status, c.RedeemedAt, c.RedeemedBy, c.RedeemKey = order.Paid, time.Time{}, 0, ""
	return nil
}

// Extend gives the coupon a later date, even if its date has passed, and returns the action on its order. If the coupon
// has that date already, it changes nothing, and done is false.
func (c *Coupon) Extend(until, now time.Time) (action order.Action, done bool, err error) {
	action = order.Extend
	if c.Status == order.Lapsed {
		action = order.Reinstate
	}
	if err := action.Check(c.OrderID, c.Status); err != nil {
		return action, false, err
	}
	if c.ValidUntil.IsZero() || until.Before(c.ValidUntil) || !until.After(now) {
		return action, false, ErrNotLater
	}
	if action == order.Extend && until.Equal(c.ValidUntil) {
		return action, false, nil
	}
	c.Status, c.ValidUntil = order.Paid, until
	return action, true, nil
}

// StaffLedger writes the changes of coupons by staff: *Ledger. Each method is one transaction, done once for each key
// of the act's author. Errors: *idempotency.RepeatedError, idempotency.ErrReused, order.ErrNotFound for an unknown
// order, ErrNotFound for an order without a coupon, *order.StateError, order.ErrUnavailable.
type StaffLedger interface {
	// Extend gives the coupon of an order a later date, and returns it. Error: ErrNotLater.
	Extend(ctx context.Context, act order.StaffAct, until time.Time) (Coupon, error)
	// Unredeem undoes the redemption of an order's coupon, and returns it.
	Unredeem(ctx context.Context, act order.StaffAct) (Coupon, error)
	// Coupon returns the coupon of anybody's order.
	Coupon(ctx context.Context, orderID int64) (Coupon, error)
}

// Staff changes coupons for staff.
type Staff struct {
	ledger   StaffLedger
	notifier order.StatusNotifier
}

// NewStaff returns a Staff.
func NewStaff(ledger StaffLedger, notifier order.StatusNotifier) *Staff {
	return &Staff{ledger, notifier}
}

// Extend calls StaffLedger.Extend, and notifies watchers of the order.
func (s *Staff) Extend(ctx context.Context, act order.StaffAct, until time.Time) (Coupon, error) {
	c, err := s.ledger.Extend(ctx, act, until.UTC().Truncate(time.Millisecond))
	return s.told(c, err)
}

// Unredeem calls StaffLedger.Unredeem, and notifies watchers of the order.
func (s *Staff) Unredeem(ctx context.Context, act order.StaffAct) (Coupon, error) {
	c, err := s.ledger.Unredeem(ctx, act)
	return s.told(c, err)
}

// Coupon calls StaffLedger.Coupon.
func (s *Staff) Coupon(ctx context.Context, orderID int64) (Coupon, error) {
	c, err := s.ledger.Coupon(ctx, orderID)
	return c, orUnavailable(err)
}

func (s *Staff) told(c Coupon, err error) (Coupon, error) {
	if err != nil {
		return Coupon{}, orUnavailable(err)
	}
	s.notifier.Notify(map[int64]order.Status{c.OrderID: c.Status})
	return c, nil
}

// orUnavailable is order.OrUnavailable, but leaves this package's refusals as they are.
func orUnavailable(err error) error {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrNotLater) {
		return err
	}
	return order.OrUnavailable(err)
}

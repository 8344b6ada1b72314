package redemption

import (
	"context"
	"errors"

	"seckill/internal/feature"
	"seckill/internal/order"
)

// ShownCoupon returns feature.Members.Coupon, which uses Tills.CouponOf.
func ShownCoupon(
	couponOf func(ctx context.Context, o order.Order) (Coupon, error),
) func(ctx context.Context, o order.Order, whole bool) (any, error) {
	return func(ctx context.Context, o order.Order, whole bool) (any, error) {
		if o.Status == order.Queued || o.Status == order.Unpaid || o.Status == order.Failed { // without a coupon
			return nil, nil
		}
		coupon, err := couponOf(ctx, o)
		if errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return couponView(coupon, shownCode(whole)), nil
	}
}

// ShownCoupons returns feature.Members.Coupons, which uses the given function to read the coupon of an order.
func ShownCoupons(
	read func(ctx context.Context, orderIDs []int64) (map[int64]Coupon, error),
) func(ctx context.Context, orderIDs []int64, whole bool) (map[int64]feature.Coupon, error) {
	return func(ctx context.Context, orderIDs []int64, whole bool) (map[int64]feature.Coupon, error) {
		found, err := read(ctx, orderIDs)
		show := shownCode(whole)
		shown := make(map[int64]feature.Coupon, len(found))
		for id, c := range found {
			shown[id] = feature.Coupon{Code: show(c.Code), ValidUntil: c.ValidUntil}
		}
		return shown, err
	}
}

// shownCode returns the function that shows a code: whole to those who may redeem it, masked to all others.
func shownCode(whole bool) func(Code) string {
	if whole {
		return Code.Shown
	}
	return Code.Masked
}

// FoundOrder returns feature.Members.OrderOfCode, which uses the given function to find the order of a code.
func FoundOrder(
	find func(ctx context.Context, code Code) (orderID int64, err error),
) func(ctx context.Context, text string) (orderID int64, err error) {
	return func(ctx context.Context, text string) (int64, error) {
		code, err := Parse(text)
		if err != nil {
			return 0, badCode()
		}
		return find(ctx, code)
	}
}

package redemption

import (
	"context"
	"errors"

	"seckill/internal/kit/moment"
	"seckill/internal/order"
)

// ShownCoupon returns a function for httpkit.Member.Order: it shows an order's coupon, which it gets from
// Tills.CouponOf.
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

// ShownCoupons returns a function for httpkit.Member.Orders: it returns the cells "code" and "validUntil" of orders,
// whose coupons it reads with the given function.
func ShownCoupons(
	read func(ctx context.Context, orderIDs []int64) (map[int64]Coupon, error),
) func(ctx context.Context, orderIDs []int64, whole bool) (map[int64]map[string]string, error) {
	return func(ctx context.Context, orderIDs []int64, whole bool) (map[int64]map[string]string, error) {
		found, err := read(ctx, orderIDs)
		show := shownCode(whole)
		shown := make(map[int64]map[string]string, len(found))
		for id, c := range found {
			shown[id] = map[string]string{"code": show(c.Code)}
			if !c.ValidUntil.IsZero() {
				shown[id]["validUntil"] = moment.Of(c.ValidUntil).String()
			}
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

// FoundOrder returns a function for httpkit.Member.Find: it finds the order of a typed code, with the given function.
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

package report

import (
	"context"
	"time"

	"seckill/internal/feature"
	"seckill/internal/voucher"
)

// guardsTimeout bounds the reading of the guards' figures: a report does not wait for a Redis that hangs.
const guardsTimeout = 500 * time.Millisecond

// Guards is what a sale's guards did.
type Guards struct {
	Shown  any  // as JSON; nil for nothing
	Unread bool // the figures could not be read
}

// waitlist returns how a sale's waiting list ended for its users, as JSON; nil if the sale has no waiting list.
func (r *Reports) waitlist(ctx context.Context, v voucher.Voucher) (any, error) {
	if r.members.Waitlist == nil {
		return nil, nil
	}
	return r.members.Waitlist(ctx, v)
}

// guards does not fail: figures that cannot be read in time are left out.
func (r *Reports) guards(ctx context.Context, v voucher.Voucher) Guards {
	if r.members.Guards == nil || v.Sale == nil {
		return Guards{}
	}
	ctx, cancel := context.WithTimeout(ctx, guardsTimeout)
	defer cancel()
	shown, err := r.members.Guards(ctx, v)
	return Guards{shown, err != nil}
}

// coupons returns no coupons if there is no feature that issues any.
func (r *Reports) coupons(
	ctx context.Context, orderIDs []int64, whole bool,
) (map[int64]feature.Coupon, error) {
	if r.members.Coupons == nil || len(orderIDs) == 0 {
		return nil, nil
	}
	return r.members.Coupons(ctx, orderIDs, whole)
}

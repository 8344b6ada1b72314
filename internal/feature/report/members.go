package report

import (
	"context"
	"time"

	"seckill/internal/feature"
	"seckill/internal/voucher"
)

// guardsTimeout bounds the reading of the guards' figures: a report does not wait for a Redis that hangs.
const guardsTimeout = 500 * time.Millisecond

// Guards has the figures of a sale's guards.
type Guards struct {
	Shown  any  // the figures, to be written as JSON; nil if there are none
	Unread bool // the figures could not be read
}

// waitlist returns the numbers of a sale's waiting list, to be written as JSON; nil if the sale has no waiting list.
func (r *Reports) waitlist(ctx context.Context, v voucher.Voucher) (any, error) {
	if r.members.Waitlist == nil {
		return nil, nil
	}
	return r.members.Waitlist(ctx, v)
}

// guards returns the figures of a sale's guards, without those that cannot be read in time.
func (r *Reports) guards(ctx context.Context, v voucher.Voucher) Guards {
	if r.members.Guards == nil || v.Sale == nil {
		return Guards{}
	}
	ctx, cancel := context.WithTimeout(ctx, guardsTimeout)
	defer cancel()
	shown, err := r.members.Guards(ctx, v)
	return Guards{shown, err != nil}
}

// coupons returns the orders' coupons; none if no feature issues coupons.
func (r *Reports) coupons(
	ctx context.Context, orderIDs []int64, whole bool,
) (map[int64]feature.Coupon, error) {
	if r.members.Coupons == nil || len(orderIDs) == 0 {
		return nil, nil
	}
	return r.members.Coupons(ctx, orderIDs, whole)
}

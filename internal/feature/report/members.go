package report

import (
	"context"
	"time"

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
	return r.members.Of("waitlist").Sale(ctx, v)
}

// guards returns the figures of a sale's guards, without those that cannot be read in time.
func (r *Reports) guards(ctx context.Context, v voucher.Voucher) Guards {
	if v.Sale == nil {
		return Guards{}
	}
	ctx, cancel := context.WithTimeout(ctx, guardsTimeout)
	defer cancel()
	shown, err := r.members.Of("guards").Sale(ctx, v)
	return Guards{shown, err != nil}
}

// journalTimeout bounds the counting of refusals: a report comes without them.
const journalTimeout = 5 * time.Second

// Journal has what instances noted of who got nothing.
type Journal struct {
	Shown  any  // to be written as JSON; nil if nothing was noted
	Unread bool // it could not be read
}

// journal returns what instances noted of a sale, if it can be read in time.
func (r *Reports) journal(ctx context.Context, v voucher.Voucher) Journal {
	if v.Sale == nil {
		return Journal{}
	}
	ctx, cancel := context.WithTimeout(ctx, journalTimeout)
	defer cancel()
	shown, err := r.members.Of("journal").Sale(ctx, v)
	return Journal{shown, err != nil}
}

// coupons returns the cells of the orders' coupons.
func (r *Reports) coupons(ctx context.Context, orderIDs []int64, whole bool) (map[int64]map[string]string, error) {
	if len(orderIDs) == 0 {
		return nil, nil //nolint:nilnil // no orders have no coupons
	}
	return r.members.Of("coupon").Orders(ctx, orderIDs, whole)
}

package report

import (
	"context"
	"time"

	"seckill/internal/voucher"
)

// How long a report waits for members that others read.
const (
	guardsTimeout  = 500 * time.Millisecond // the guards' figures, from a Redis that may hang
	journalTimeout = 5 * time.Second        // counting who got nothing
)

// Member is what a feature adds to a report about a sale.
type Member struct {
	Shown  any  // to be written as JSON; nil if there is nothing
	Unread bool // it could not be read in time
}

// waitlist returns the numbers of a sale's waiting list, to be written as JSON; nil if the sale has no waiting list.
func (r *Reports) waitlist(ctx context.Context, v voucher.Voucher) (any, error) {
	return r.members.Of("waitlist").Sale(ctx, v)
}

// member returns the member of a sale with the name, without what cannot be read in time.
func (r *Reports) member(ctx context.Context, name string, memberTime time.Duration, v voucher.Voucher) Member {
	if v.Sale == nil {
		return Member{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTime)
	defer cancel()
	shown, err := r.members.Of(name).Sale(ctx, v)
	return Member{shown, err != nil}
}

// coupons returns the cells of the orders' coupons.
func (r *Reports) coupons(ctx context.Context, orderIDs []int64, whole bool) (map[int64]map[string]string, error) {
	if len(orderIDs) == 0 {
		return nil, nil //nolint:nilnil // no orders have no coupons
	}
	return r.members.Of("coupon").Orders(ctx, orderIDs, whole)
}

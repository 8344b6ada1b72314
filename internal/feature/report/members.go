package report

import (
	"context"
	"time"

	"seckill/internal/voucher"
)

// guardsTimeout bounds the reading of the guards' figures: a report does not wait for a Redis that hangs.
const guardsTimeout = 500 * time.Millisecond

// Members are what reports and exports show of other features. A function that is nil shows nothing.
type Members struct {
	// Waitlist returns what has become of the places of a sale's waiting list.
	Waitlist func(ctx context.Context, voucherID int64) (Waitlist, error)
	// Guards returns what a sale's guards did: as JSON, nil for nothing, and as lines of a CSV, names with figures.
	// With an error both are what can be shown without the figures.
	Guards func(ctx context.Context, v voucher.Voucher) (shown any, lines [][2]string, err error)
	// Coupons returns the coupons of orders, by order, with their codes masked or whole.
	Coupons func(ctx context.Context, orderIDs []int64, whole bool) (map[int64]Coupon, error)
}

// Waitlist is what has become of the places of a waiting list. A place is offered a unit once at most.
type Waitlist struct {
	Joined   int64 // all places
	Waiting  int64 // waiting now
	Offered  int64 // were offered a unit: Open + Bought + Passed
	Open     int64 // their offer stands, or is accepted and not decided yet
	Accepted int64 // their offer was accepted
	Bought   int64 // their offer became an order
	Passed   int64 // their offer ended without an order: declined, missed, refused or over
}

// Guards is what a sale's guards did.
type Guards struct {
	Shown  any // as JSON; nil for nothing
	Lines  [][2]string
	Unread bool // the figures could not be read
}

// Coupon is the coupon of an order. The zero coupon is none.
type Coupon struct {
	Code       string    // masked or whole
	ValidUntil time.Time // zero for ever
}

// waitlist returns nil if the voucher has no waiting list.
func (m Members) waitlist(ctx context.Context, v voucher.Voucher) (*Waitlist, error) {
	if m.Waitlist == nil || v.Sale == nil || !v.Sale.HasWaitlist() {
		return nil, nil //nolint:nilnil // most sales have none
	}
	w, err := m.Waitlist(ctx, v.ID)
	return &w, err
}

// guards does not fail: figures that cannot be read in time are left out.
func (m Members) guards(ctx context.Context, v voucher.Voucher) Guards {
	if m.Guards == nil || v.Sale == nil {
		return Guards{}
	}
	ctx, cancel := context.WithTimeout(ctx, guardsTimeout)
	defer cancel()
	shown, lines, err := m.Guards(ctx, v)
	return Guards{shown, lines, err != nil}
}

// coupons returns no coupons if there is no feature that issues any.
func (m Members) coupons(ctx context.Context, orderIDs []int64, whole bool) (map[int64]Coupon, error) {
	if m.Coupons == nil || len(orderIDs) == 0 {
		return nil, nil
	}
	return m.Coupons(ctx, orderIDs, whole)
}

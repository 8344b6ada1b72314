package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/split"
)

const (
	gatherStep  = time.Second           // for how long one look at all shares, and what is pending in them, is waited for
	gatherPause = 50 * time.Millisecond // after two looks by which nothing is certain and no share can give any, or by which the last move brought none
)

// Gather implements voucher.StockOutbox.
func (o *Outbox) Gather(ctx context.Context, voucherID, units int64) (left int64, err error) {
	return o.GatherIn(ctx, order.SaleID{VoucherID: voucherID}, units)
}

// GatherIn implements service.Outbox: it moves units to one share of a split sale until it can give so many, and returns
// how many it can give then; or fewer than those if that is all that the sale had at one moment: what was left in all
// shares, with what waits there until it can be sold. It returns ErrUnavailable, wrapped, when neither is known before
// ctx ends.
func (o *Outbox) GatherIn(ctx context.Context, to order.SaleID, units int64) (left int64, err error) {
	v, err := o.catalog.Find(ctx, to.VoucherID)
	if err != nil {
		return 0, err
	}
	shares := order.SalesOf(v)
	if to.Share >= len(shares) {
		return 0, fmt.Errorf("voucher %d has no share %d, but %d", to.VoucherID, to.Share, len(shares))
	}
	for had := int64(-1); ; {
		first, notFirst := o.look(ctx, shares)
		second, notSecond := o.look(ctx, shares)
		own := second[to.Share]
		switch most, known := split.AtMost(first, second); {
		case own.Known && own.Sellable >= units:
			return own.Sellable, nil
		case known && most+second.Waiting() < units:
			return most + second.Waiting(), nil
		case ctx.Err() != nil:
			return 0, fmt.Errorf("%w: gathering %d units in voucher %s: %w", order.ErrUnavailable, units, to, errors.Join(ctx.Err(), notFirst, notSecond))
		}
		pull, found := second.GatherFor(to.Share, units-own.Sellable)
		found = found && own.Known
		if !found || own.Sellable <= had { // also when the last move brought nothing
			order.Sleep(ctx, gatherPause)
		}
		had = own.Sellable
		if err := o.bring(ctx, shares, to, pull, found); err != nil {
			return 0, err
		}
	}
}

// bring moves the units of a pull. Where no share can give any, some may be on their way still, as who moved them has died.
func (o *Outbox) bring(ctx context.Context, shares []order.SaleRef, to order.SaleID, pull split.Pull, found bool) error {
	if found {
		return o.Move(ctx, shares[pull.From], shares[to.Share], pull.Units)
	}
	ctx, cancel := context.WithTimeout(ctx, gatherStep)
	defer cancel()
	for range 2 { // what takes, and what gives then
		_ = o.Flush(ctx, to.VoucherID) // the looks tell what came of it
	}
	return nil
}

func (o *Outbox) look(ctx context.Context, shares []order.SaleRef) (split.Look, error) {
	ctx, cancel := context.WithTimeout(ctx, gatherStep)
	defer cancel()
	return o.stores.Looker.Look(ctx, shares)
}

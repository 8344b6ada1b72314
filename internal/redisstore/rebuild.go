package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"seckill/internal/order"
)

// maxHolders is how many holders or orders one step of a rebuild takes.
const maxHolders = 1000

// errRebuildLost: Redis no longer knows the rebuild of a step; it was emptied or lost its tail.
var errRebuildLost = errors.New("redis no longer knows of this rebuild")

// The answers of the scripts of a rebuild.
const (
	rebuildSuperseded int64 = 0
	rebuildDone       int64 = 1
	rebuildGone       int64 = 2
)

// Begin implements recovery.SaleBuilder. Repeating it for the same epoch is safe. A sale that was open sells again
// after order.ReturnDelay at the earliest, however soon it is published.
func (s *Store) Begin(ctx context.Context, sale order.SaleRef, epoch int64) error {
	keys := []string{
		s.keys.sale(sale), s.keys.stops(sale.Partition), s.keys.reports(sale),
		s.keys.reported(sale), s.keys.buyers(sale),
	}
	return stepDone(s.intWithFormat(ctx, s.scripts.begin, sale.Partition, keys,
		&sale.VoucherID, epoch, s.returnDelay.Milliseconds(), s.options.Alone))
}

// SetHolders implements recovery.SaleBuilder.
func (s *Store) SetHolders(
	ctx context.Context, sale order.SaleRef, epoch int64, claims []order.Claim, remove []string,
) error {
	keys := []string{s.keys.sale(sale), s.keys.buyers(sale)}
	for len(claims)+len(remove) > 0 {
		n, m := min(len(claims), maxHolders), min(len(remove), maxHolders)
		args := make([]any, 0, 2+2*n+m)
		args = append(args, epoch, n)
		for _, c := range claims[:n] {
			args = append(args, c.UserID, heldArgument(c.Held()))
		}
		for _, field := range remove[:m] {
			args = append(args, field)
		}
		if err := stepDone(s.scripts.setHolders.RunInt(ctx, s.in(sale.Partition), keys, args...)); err != nil {
			return err
		}
		claims, remove = claims[n:], remove[m:]
	}
	return nil
}

// Requeue implements recovery.SaleBuilder. A claim keeps its own epoch and sequence.
func (s *Store) Requeue(ctx context.Context, sale order.SaleRef, epoch int64, claims []order.Claim) error {
	keys := []string{s.keys.sale(sale), s.keys.orders(sale.Partition)}
	for part := range slices.Chunk(claims, maxHolders) {
		args := make([]any, 0, 2+4*len(part))
		args = append(args, epoch, &sale.VoucherID)
		for _, c := range part {
			args = append(args, c.UserID, heldArgument(c.Held()), c.Epoch, c.Sequence)
		}
		if err := stepDone(s.intWithFormat(ctx, s.scripts.requeue, sale.Partition, keys, args...)); err != nil {
			return err
		}
	}
	return nil
}

// Publish implements recovery.SaleBuilder. Repeating it returns order.ErrSuperseded, as does any later step of a
// finished rebuild.
func (s *Store) Publish(ctx context.Context, sale order.SaleRef, epoch int64, o order.Opening) error {
	mode, err := wordOf(o.Mode)
	if err != nil {
		return err
	}
	keys := []string{s.keys.sale(sale), s.keys.reports(sale), s.keys.reported(sale)}
	return stepDone(s.intWithFormat(ctx, s.scripts.publish, sale.Partition, keys,
		epoch, mode, o.Stock, o.Begin.UnixMilli(), o.End.UnixMilli(), o.Operation, o.Extra,
		strconv.FormatInt(o.Identity, 10), decisionText(o.Decided)))
}

func stepDone(code int64, err error) error {
	if err != nil {
		return err
	}
	switch code {
	case rebuildDone:
		return nil
	case rebuildSuperseded:
		return order.ErrSuperseded
	case rebuildGone:
		return errRebuildLost
	default:
		return fmt.Errorf("redis: unknown answer %d to a step of a rebuild", code)
	}
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"seckill/internal/order"
	"seckill/internal/order/split"
)

// Look reads all shares of a split sale, given by number, each at a moment of its own between the call and its return. Shares that
// could not be read are not Known, and the error says why; the others are right all the same.
func (s *Store) Look(ctx context.Context, shares []order.SaleRef) (split.Look, error) {
	look, errs := make(split.Look, len(shares)), make([]error, len(shares))
	var reads sync.WaitGroup
	for i, share := range shares {
		reads.Go(func() { look[i], errs[i] = s.lookAt(ctx, share) })
	}
	reads.Wait()
	return look, errors.Join(errs...)
}

func (s *Store) lookAt(ctx context.Context, share order.SaleRef) (split.Share, error) {
	raw, err := s.scripts.look.run(ctx, s.commands, []string{s.keys.sale(share), s.keys.buyers(share)})
	if err != nil {
		return split.Share{}, fmt.Errorf("looking at the share of voucher %s: %w", share.SaleID, err)
	}
	r := newReply(raw)
	if r.number() == 0 && r.err == nil {
		return split.Share{}, nil
	}
	found := split.Share{
		Known: true, Open: r.number() == 1, Epoch: r.number(), Operation: r.number(), Corrected: r.number(),
		MovedOut: r.number(), MovedIn: r.number(), Sellable: r.number(), Waiting: r.number(), Kept: r.number() == 1,
	}
	if r.err != nil {
		return split.Share{}, r.err
	}
	return found, nil
}

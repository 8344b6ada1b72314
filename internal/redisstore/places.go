package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// maxCorrections is how many corrections scripts/correct.lua takes in one call.
const maxCorrections = 250

// Correct applies returns, each only while the user's place is held by the order that it names, so that repeating is
// harmless. Returns of one sale travel together. A sale whose call fails does not keep the others from being
// corrected; the errors are joined.
func (s *Store) Correct(ctx context.Context, returns []order.Return) error {
	var errs []error
	for sale, of := range bySale(returns) {
		for len(of) > 0 {
			n := min(len(of), maxCorrections)
			if _, err := s.correctSale(ctx, sale, of[:n]); err != nil {
				errs = append(errs, fmt.Errorf("correcting %d places of voucher %d: %w", n, sale.VoucherID, err))
			}
			of = of[n:]
		}
	}
	return errors.Join(errs...)
}

func bySale(returns []order.Return) map[order.SaleRef][]order.Return {
	sales := make(map[order.SaleRef][]order.Return)
	for _, r := range returns {
		sales[r.Sale] = append(sales[r.Sale], r)
	}
	return sales
}

// correctSale corrects places of one sale and reports for each whether it acted.
func (s *Store) correctSale(ctx context.Context, sale order.SaleRef, returns []order.Return) ([]bool, error) {
	args := make([]any, 0, 1+4*len(returns))
	args = append(args, s.options.ReturnDelay.Milliseconds())
	for _, r := range returns {
		args = append(args, r.UserID, r.OrderID, r.GiveBack, r.Instead)
	}
	raw, err := s.scripts.correct.run(ctx, s.commands, []string{s.keys.sale(sale), s.keys.buyers(sale)}, args...)
	if err != nil {
		return nil, err
	}
	r := newReply(raw)
	acted := make([]bool, len(returns))
	for i := range acted {
		acted[i] = r.number() == 1
	}
	return acted, r.err
}

// HeldBy returns the user's order id in each of the sales, 0 where he has none, in one round trip.
func (s *Store) HeldBy(ctx context.Context, userID int64, sales []order.SaleRef) ([]int64, error) {
	if len(sales) == 0 {
		return nil, nil
	}
	user := strconv.FormatInt(userID, 10)
	places := make([]*redis.StringCmd, len(sales))
	// A command's own error is read below; the pipeline's is the first of them, and redis.Nil is none.
	_, _ = s.commands.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, sale := range sales {
			places[i] = p.HGet(ctx, s.keys.buyers(sale), user)
		}
		return nil
	})
	ids := make([]int64, len(sales))
	for i, place := range places {
		id, err := place.Int64()
		switch {
		case errors.Is(err, redis.Nil):
		case err != nil:
			return nil, fmt.Errorf("places of user %d: %w", userID, translate(err))
		default:
			ids[i] = id
		}
	}
	return ids, nil
}

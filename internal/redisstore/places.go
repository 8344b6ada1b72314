package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// maxCorrections is how many corrections scripts/correct.lua takes in one call.
const maxCorrections = 250

// Correct applies returns, each only while the user's place is held by the order that it names, so that repeating is
// harmless. Returns of one sale travel together, and a sale whose call fails does not keep the others from being
// corrected. The error wraps order.ErrOutdated when a return was decided before operations that the sale contains, and
// order.ErrRejected when all that is left is what repeating cannot help.
//
// By voucher id, it tells the epoch of a rebuild during which a unit was given back, as long as that epoch is the
// sale's last; also together with an error. It tells it again whenever it is called for that sale.
func (s *Store) Correct(ctx context.Context, returns []order.Return) (rebuilding map[int64]int64, err error) {
	var failed, rejected []error
	for sale, of := range bySale(returns) {
		for batch := range slices.Chunk(of, maxCorrections) {
			c, err := s.correctSale(ctx, sale, batch)
			if c.rebuilding > 0 {
				if rebuilding == nil {
					rebuilding = make(map[int64]int64)
				}
				rebuilding[sale.VoucherID] = max(rebuilding[sale.VoucherID], c.rebuilding)
			}
			switch {
			case err == nil && c.outdated > 0:
				failed = append(failed, fmt.Errorf("correcting places of voucher %d: %d of %d were %w", sale.VoucherID, c.outdated, len(batch), order.ErrOutdated))
			case err == nil:
			case rejects(err):
				rejected = append(rejected, fmt.Errorf("%w: correcting places of voucher %d: %w", order.ErrRejected, sale.VoucherID, err))
			default:
				failed = append(failed, fmt.Errorf("correcting %d places of voucher %d: %w", len(batch), sale.VoucherID, err))
			}
		}
	}
	if len(failed) > 0 {
		return rebuilding, errors.Join(failed...) // once these have succeeded, the rejected ones are told
	}
	return rebuilding, errors.Join(rejected...)
}

func bySale(returns []order.Return) map[order.SaleRef][]order.Return {
	sales := make(map[order.SaleRef][]order.Return)
	for _, r := range returns {
		sales[r.Sale] = append(sales[r.Sale], r)
	}
	return sales
}

// What scripts/correct.lua answers for a correction that acted, and for one that is out of date.
const (
	correctionActed    int64 = 1
	correctionOutdated int64 = 2
)

// correction is what scripts/correct.lua answers.
type correction struct {
	acted      []bool // for each return, in order
	outdated   int    // how many returns were decided before operations that the sale contains
	rebuilding int64  // epoch of the rebuild during which a unit was given back, 0 for none
}

// correctSale corrects places of one sale.
func (s *Store) correctSale(ctx context.Context, sale order.SaleRef, returns []order.Return) (correction, error) {
	args := make([]any, 0, 1+5*len(returns))
	args = append(args, s.returnDelay.Milliseconds())
	for _, r := range returns {
		args = append(args, r.UserID, r.OrderID, r.GiveBack, r.Instead, r.Until)
	}
	raw, err := s.scripts.correct.run(ctx, s.commands, []string{s.keys.sale(sale), s.keys.buyers(sale)}, args...)
	if err != nil {
		return correction{}, err
	}
	r := newReply(raw)
	c := correction{rebuilding: r.number(), acted: make([]bool, len(returns))}
	for i := range c.acted {
		switch r.number() {
		case correctionActed:
			c.acted[i] = true
		case correctionOutdated:
			c.outdated++
		}
	}
	return c, r.err
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

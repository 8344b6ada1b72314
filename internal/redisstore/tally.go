package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// tallyKept is for how long the counts of a sale are kept after somebody was last counted.
const tallyKept = 24 * time.Hour

// Add implements order.Board.
func (s *Store) Add(ctx context.Context, sale order.SaleRef, since order.Counts) error {
	args := make([]any, 1, 1+2*len(since))
	args[0] = tallyKept.Milliseconds()
	for told, n := range since {
		if n != 0 {
			args = append(args, order.Told(told).String(), n)
		}
	}
	_, err := s.scripts.tally.runInt(ctx, s.commands, []string{s.keys.tally(sale)}, args...)
	return err
}

// Pulse implements order.Pulses.
func (s *Store) Pulse(ctx context.Context, v voucher.Voucher) (order.Pulse, error) {
	sale := order.SaleRef{VoucherID: v.ID, Partition: v.Sale.Partition}
	views, err := s.Views(ctx, []order.SaleRef{sale})
	if err != nil {
		return order.Pulse{}, err
	}
	var (
		tally         *redis.MapStringStringCmd
		waiting, dead *redis.IntCmd
		first         *redis.XMessageSliceCmd
	)
	_, err = s.commands.Pipelined(ctx, func(p redis.Pipeliner) error {
		tally = p.HGetAll(ctx, s.keys.tally(sale))
		waiting, dead = p.XLen(ctx, s.keys.orders(sale.Partition)), p.XLen(ctx, s.keys.dead(sale.Partition))
		first = p.XRangeN(ctx, s.keys.orders(sale.Partition), "-", "+", 1)
		return nil
	})
	if err != nil {
		return order.Pulse{}, translate(err)
	}
	told, err := countsOf(tally.Val())
	if err != nil {
		return order.Pulse{}, err
	}
	return order.Pulse{
		View: views[0], State: stateOf(views[0], v.Status), Told: told,
		Waiting: waiting.Val(), Dead: dead.Val(), Oldest: ageOf(first.Val(), views[0].Now),
	}, nil
}

// countsOf reads a tally. What this version does not know is left out.
func countsOf(fields map[string]string) (order.Counts, error) {
	var counts order.Counts
	for told := range counts {
		text, has := fields[order.Told(told).String()]
		if !has {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return counts, fmt.Errorf("redis: a tally's count: %w", err)
		}
		counts[told] = n
	}
	return counts, nil
}

// ageOf is how long ago the first of the entries was added: its key begins with the millisecond, by Redis's clock.
func ageOf(entries []redis.XMessage, now time.Time) time.Duration {
	if len(entries) == 0 {
		return 0
	}
	text, _, _ := strings.Cut(entries[0].ID, "-")
	added, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0 // somebody chose the key himself
	}
	return max(0, now.Sub(time.UnixMilli(added)))
}

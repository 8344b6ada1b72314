package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/guard"
	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
)

const (
	guardsKept    = 30 * 24 * time.Hour // after the last addition: the sale's report shows them
	networksKept  = 1000                // of a sale, for each of the two counts
	networksShown = 10
)

// AddGuardCounts implements service.GuardCounts.
func (s *Store) AddGuardCounts(ctx context.Context, sale order.SaleRef, d *guard.Delta) error {
	args := make([]any, 0, 4+2*(len(d.Counts)+len(d.Stopped)+len(d.Units)))
	args = append(args, guardsKept.Milliseconds(), networksKept, len(d.Counts), len(d.Stopped))
	for c, n := range d.Counts {
		args = append(args, string(c), n)
	}
	for _, networks := range []map[string]int64{d.Stopped, d.Units} {
		for network, n := range networks {
			args = append(args, network, n)
		}
	}
	_, err := s.scripts.addGuardCounts.RunInt(ctx, s.in(sale.Partition), s.keys.guards(sale), args...)
	return err
}

// GuardFigures returns what all instances have counted of a sale's guards; nothing, where nothing was counted. A value
// that is no count is left out: these are figures for people, who shall still see the others.
func (s *Store) GuardFigures(ctx context.Context, sale order.SaleRef) (guard.Figures, error) {
	keys := s.keys.guards(sale)
	var (
		counts         *redis.MapStringStringCmd
		stopped, units *redis.ZSliceCmd
	)
	_, err := s.in(sale.Partition).Pipelined(ctx, func(p redis.Pipeliner) error {
		counts = p.HGetAll(ctx, keys[0])
		stopped, units = p.ZRevRangeWithScores(ctx, keys[1], 0, networksShown-1),
			p.ZRevRangeWithScores(ctx, keys[2], 0, networksShown-1)
		return nil
	})
	if err != nil && !rediskit.Rejects(err) { // Redis is away, loading or without its cluster: that is not nothing
		return guard.Figures{}, rediskit.Translate(err)
	}
	f := guard.Figures{
		Counts: make(map[guard.Count]int64), Stopped: networkCounts(stopped.Val()), Units: networkCounts(units.Val()),
	}
	for c, text := range counts.Val() {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
			f.Counts[guard.Count(c)] = n
		}
	}
	return f, nil
}

func networkCounts(found []redis.Z) []guard.NetworkCount {
	var counts []guard.NetworkCount
	for _, z := range found {
		network, _ := z.Member.(string)
		counts = append(counts, guard.NetworkCount{Network: network, Count: int64(z.Score)})
	}
	return counts
}

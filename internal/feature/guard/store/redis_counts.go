package store

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/feature/guard/tally"
	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
)

const (
	guardsKept    = 30 * 24 * time.Hour // after the last addition: the sale's report shows them
	networksKept  = 1000                // of a sale, for each of the two counts
	networksShown = 10
)

// Redis has the guards' data that all instances share: the counts of a sale, in its partition, and the spending of
// callers, in partition 0. Nothing is decided by the counts, and a Redis that lost everything stops no sale.
type Redis struct {
	partitions          rediskit.Partitions
	addCounts, exchange rediskit.Script
}

// NewRedis returns the guards' part of Redis.
func NewRedis(partitions rediskit.Partitions) *Redis {
	return &Redis{
		partitions: partitions,
		addCounts:  rediskit.NewScript("add_guard_counts"), exchange: rediskit.NewScript("exchange_spending"),
	}
}

// AddCounts implements tally.AddCounts.
func (r *Redis) AddCounts(ctx context.Context, sale order.SaleRef, d *tally.Delta) error {
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
	_, err := r.addCounts.RunInt(ctx, r.partitions.In(sale.Partition), r.countKeys(sale), args...)
	return err
}

// Figures returns the counts of a sale's guards over all instances; zeros if nothing was counted. It skips a value that
// is not a number, so that people still see the others.
func (r *Redis) Figures(ctx context.Context, sale order.SaleRef) (tally.Figures, error) {
	keys := r.countKeys(sale)
	var (
		counts         *redis.MapStringStringCmd
		stopped, units *redis.ZSliceCmd
	)
	_, err := r.partitions.In(sale.Partition).Pipelined(ctx, func(p redis.Pipeliner) error {
		counts = p.HGetAll(ctx, keys[0])
		stopped, units = p.ZRevRangeWithScores(ctx, keys[1], 0, networksShown-1),
			p.ZRevRangeWithScores(ctx, keys[2], 0, networksShown-1)
		return nil
	})
	if err != nil && !rediskit.Rejects(err) { // Redis is away, loading or without its cluster: counts may exist
		return tally.Figures{}, rediskit.Translate(err)
	}
	f := tally.Figures{
		Counts: make(map[tally.Count]int64), Stopped: networkCounts(stopped.Val()), Units: networkCounts(units.Val()),
	}
	for c, text := range counts.Val() {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
			f.Counts[tally.Count(c)] = n
		}
	}
	return f, nil
}

func networkCounts(found []redis.Z) []tally.NetworkCount {
	var counts []tally.NetworkCount
	for _, z := range found {
		network, _ := z.Member.(string)
		counts = append(counts, tally.NetworkCount{Network: network, Count: int64(z.Score)})
	}
	return counts
}

// countKeys are the keys of a sale's counts: count name → number (hash), and stopped requests and sold units by network
// (sorted sets: network → number). They expire thirty days after the last addition.
func (r *Redis) countKeys(s order.SaleRef) []string {
	counts := r.partitions.Key(s.Partition, "guards:"+strconv.FormatInt(s.VoucherID, 10))
	return []string{counts, counts + ":stopped", counts + ":units"}
}

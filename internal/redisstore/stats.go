package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/gate"
	"seckill/internal/order/partition"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/voucher"
)

// countsKept is how long the counts of a sale are kept after the last addition.
const countsKept = 24 * time.Hour

// Add is an admission.StatsStore.
func (s *Store) Add(ctx context.Context, sale order.SaleRef, since gate.Counts, took histogram.Counts) error {
	args := make([]any, 1, 1+2*(len(since)+len(took)))
	args[0] = countsKept.Milliseconds()
	for answer, n := range since {
		args = append(args, string(answer), n)
	}
	for bucket, n := range took {
		if n > 0 {
			args = append(args, tookField(bucket), n)
		}
	}
	_, err := s.scripts.addCounts.RunInt(ctx, s.in(sale.Partition), []string{s.keys.outcomes(sale)}, args...)
	return err
}

// LiveStats reads the stats of a seckill voucher's sale for an audit.Monitor.
func (s *Store) LiveStats(ctx context.Context, v voucher.Voucher) (audit.LiveStats, error) {
	sale := order.SaleOf(v)
	views, err := s.Views(ctx, []order.SaleRef{sale})
	if err != nil {
		return audit.LiveStats{}, err
	}
	var (
		counts        *redis.MapStringStringCmd
		waiting, dead *redis.IntCmd
		first         *redis.XMessageSliceCmd
	)
	_, err = s.in(sale.Partition).Pipelined(ctx, func(p redis.Pipeliner) error {
		counts = p.HGetAll(ctx, s.keys.outcomes(sale))
		waiting, dead = p.XLen(ctx, s.keys.orders(sale.Partition)), p.XLen(ctx, s.keys.dead(sale.Partition))
		first = p.XRangeN(ctx, s.keys.orders(sale.Partition), "-", "+", 1)
		return nil
	})
	if err != nil {
		return audit.LiveStats{}, rediskit.Translate(err)
	}
	stats := audit.LiveStats{
		View: views[0], State: stateOf(views[0], v.Status),
		Waiting: waiting.Val(), OldestWaiting: ageOf(first.Val(), views[0].Now), DeadLetters: dead.Val(),
	}
	if stats.Answers, stats.Took, err = countsOf(counts.Val()); err != nil {
		return audit.LiveStats{}, err
	}
	return stats, nil
}

// tookField returns the field that counts the answers whose duration is in a bucket.
func tookField(bucket int) string { return "took_" + strconv.Itoa(bucket) }

// countsOf reads the counts of answers, and of how long they took. It skips unknown ones.
func countsOf(fields map[string]string) (gate.Counts, histogram.Counts, error) {
	counts := gate.Counts{}
	for _, answer := range gate.Answers() {
		n, has, err := countIn(fields, string(answer))
		if err != nil {
			return nil, nil, err
		}
		if has {
			counts[answer] = n
		}
	}
	return counts, tookOf(fields), nil
}

// tookOf reads how long answers took. If one of the counts cannot be read it returns none, as the rest would mislead.
func tookOf(fields map[string]string) histogram.Counts {
	took := make(histogram.Counts, histogram.Buckets)
	for bucket := range took {
		var err error
		if took[bucket], _, err = countIn(fields, tookField(bucket)); err != nil {
			return nil
		}
	}
	if !took.Valid() {
		return nil
	}
	return took
}

func countIn(fields map[string]string, name string) (n int64, has bool, err error) {
	text, has := fields[name]
	if !has {
		return 0, false, nil
	}
	if n, err = strconv.ParseInt(text, 10, 64); err != nil {
		return 0, true, fmt.Errorf("redis: a count of answers: %w", err)
	}
	return n, true, nil
}

// ageOf returns how long ago the first entry was added: its id begins with the millisecond, by Redis's clock.
func ageOf(entries []redis.XMessage, now time.Time) time.Duration {
	if len(entries) == 0 {
		return 0
	}
	added, known := addedAt(entries[0].ID)
	if !known {
		return 0
	}
	return max(0, now.Sub(added))
}

// addedAt returns when the entry with the id was added, by Redis's clock; unknown if its id was written by hand.
func addedAt(id string) (time.Time, bool) {
	text, _, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms).UTC(), err == nil
}

// Backlog counts a partition's waiting orders and dead letters.
type Backlog struct {
	Waiting int64         // entries of accepted orders
	Oldest  time.Duration // how long the oldest has waited
	Dead    int64         // dead letters
}

// Backlog returns the partition's backlog.
func (s *Store) Backlog(ctx context.Context, partition int) (b Backlog, err error) {
	var (
		waiting, dead *redis.IntCmd
		first         *redis.XMessageSliceCmd
	)
	_, err = s.in(partition).Pipelined(ctx, func(p redis.Pipeliner) error {
		waiting, dead = p.XLen(ctx, s.keys.orders(partition)), p.XLen(ctx, s.keys.dead(partition))
		first = p.XRangeN(ctx, s.keys.orders(partition), "-", "+", 1)
		return nil
	})
	if err != nil {
		return Backlog{}, rediskit.Translate(err)
	}
	now, err := s.TimeIn(ctx, partition)
	if err != nil {
		return Backlog{}, err
	}
	return Backlog{Waiting: waiting.Val(), Dead: dead.Val(), Oldest: ageOf(first.Val(), now)}, nil
}

// WaitingIn implements partition.Backlogs.
func (s *Store) WaitingIn(ctx context.Context, number int) (partition.Waiting, error) {
	b, err := s.Backlog(ctx, number)
	if err != nil {
		return partition.Waiting{}, err
	}
	node, err := s.nodeOf(ctx, number)
	if err != nil {
		return partition.Waiting{}, err
	}
	w := partition.Waiting{
		Orders: b.Waiting, Oldest: b.Oldest, DeadLetters: b.Dead, Node: rediskit.AddressOf(s.commands, node),
	}
	if w.At, err = s.TimeIn(ctx, number); err != nil {
		return partition.Waiting{}, err
	}
	w.Processor = processorTime(rediskit.Info(ctx, node, "cpu"))
	// Before the first order there is no stream.
	if stream, err := s.in(number).XInfoStream(ctx, s.keys.orders(number)).Result(); err == nil {
		w.Added = stream.EntriesAdded
	}
	return w, nil
}

// processorTime returns a server's processor time from its INFO; 0 if that does not show it.
func processorTime(cpu map[string]string) time.Duration {
	var seconds float64
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		part, _ := strconv.ParseFloat(cpu[name], 64)
		seconds += part
	}
	return time.Duration(seconds * float64(time.Second))
}

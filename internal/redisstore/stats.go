package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/partition"
	"seckill/internal/voucher"
)

// countsKept is for how long the counts of a sale are kept after the last addition.
const countsKept = 24 * time.Hour

// Add implements admission.StatsStore.
func (s *Store) Add(ctx context.Context, sale order.SaleRef, since order.Counts) error {
	args := make([]any, 1, 1+2*len(since))
	args[0] = countsKept.Milliseconds()
	for answer, n := range since {
		args = append(args, string(answer), n)
	}
	_, err := s.scripts.addCounts.runInt(ctx, s.commands, []string{s.keys.counts(sale)}, args...)
	return err
}

// LiveStats implements audit.LiveStatsReader: of a split sale, the sums over its shares.
func (s *Store) LiveStats(ctx context.Context, v voucher.Voucher) (audit.LiveStats, error) {
	sales := order.SalesOf(v)
	views, err := s.Views(ctx, sales)
	if err != nil {
		return audit.LiveStats{}, err
	}
	all := audit.LiveStats{View: views[0], Answers: order.Counts{}, State: stateOf(views[0], v.Status)}
	if v.Sale.Shares != nil {
		all.Shares = sharesOf(v, views)
		all.View, all.State = joined(v, views, all.Shares)
	}
	asked := make(map[int]bool, 1) // partitions whose backlog it has
	for i, sale := range sales {
		of, err := s.liveStats(ctx, sale, views[i])
		if err != nil {
			return audit.LiveStats{}, err
		}
		for answer, n := range of.Answers {
			all.Answers[answer] += n
		}
		if !asked[sale.Partition] {
			asked[sale.Partition] = true
			all.Waiting, all.DeadLetters = all.Waiting+of.Waiting, all.DeadLetters+of.DeadLetters
			all.OldestWaiting = max(all.OldestWaiting, of.OldestWaiting)
		}
	}
	all.Guards, err = s.GuardFigures(ctx, sales[0]) // they are the voucher's
	return all, err
}

// sharesOf are the stats of a split sale's shares. What a retired one had stands in the ledger.
func sharesOf(v voucher.Voucher, views []order.SaleView) []audit.ShareStats {
	stats := make([]audit.ShareStats, len(views))
	for i, share := range v.Sale.Shares {
		live := liveIn(v, share.Stock, views[i])
		of := audit.ShareStats{
			Partition: share.Partition, State: live.State, Stock: live.Stock, Held: views[i].Buyers + views[i].Extra,
			Issued: share.Issued, MovedIn: share.MovedIn, MovedOut: share.MovedOut,
		}
		if share.Retired {
			of.State, of.Stock, of.Held = voucher.StateEnded, share.Stock, share.Issued-share.Stock-share.Offered
		}
		stats[i] = of
	}
	return stats
}

// joined is the view of a split sale with its state: the sums over its shares, and the window of one that Redis holds. Its time is that
// of share 0.
func joined(v voucher.Voucher, views []order.SaleView, shares []audit.ShareStats) (order.SaleView, voucher.SaleState) {
	all := order.SaleView{Begin: v.Sale.Begin, End: v.Sale.End, Now: views[0].Now}
	state := voucher.SaleState("")
	for i, view := range views {
		state = jointState(state, shares[i].State)
		all.Mark.Epoch, all.Mark.Sequence = all.Mark.Epoch+view.Mark.Epoch, all.Mark.Sequence+view.Mark.Sequence
		all.Stock, all.Buyers = all.Stock+shares[i].Stock, all.Buyers+shares[i].Held
		if view.Mode != order.SaleMissing {
			all.Begin, all.End = view.Begin, view.End
		}
	}
	return all, state
}

// liveStats are the stats of one sale but its state and guards.
func (s *Store) liveStats(ctx context.Context, sale order.SaleRef, view order.SaleView) (audit.LiveStats, error) {
	var (
		counts        *redis.MapStringStringCmd
		waiting, dead *redis.IntCmd
		first         *redis.XMessageSliceCmd
	)
	_, err := s.commands.Pipelined(ctx, func(p redis.Pipeliner) error {
		counts = p.HGetAll(ctx, s.keys.counts(sale))
		waiting, dead = p.XLen(ctx, s.keys.orders(sale.Partition)), p.XLen(ctx, s.keys.dead(sale.Partition))
		first = p.XRangeN(ctx, s.keys.orders(sale.Partition), "-", "+", 1)
		return nil
	})
	if err != nil {
		return audit.LiveStats{}, translate(err)
	}
	answers, err := countsOf(counts.Val())
	if err != nil {
		return audit.LiveStats{}, err
	}
	return audit.LiveStats{
		Answers: answers, Waiting: waiting.Val(), DeadLetters: dead.Val(), OldestWaiting: ageOf(first.Val(), view.Now),
	}, nil
}

// countsOf reads the counts of outcomes. What this version does not know is left out.
func countsOf(fields map[string]string) (order.Counts, error) {
	counts := order.Counts{}
	for _, answer := range order.Answers() {
		text, has := fields[string(answer)]
		if !has {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return counts, fmt.Errorf("redis: a count of outcomes: %w", err)
		}
		counts[answer] = n
	}
	return counts, nil
}

// ageOf is how long ago the first of the entries was added: its key begins with the millisecond, by Redis's clock.
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

// addedAt is when the entry with the id was added, by Redis's clock; not known if its id was written by hand.
func addedAt(id string) (time.Time, bool) {
	text, _, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms).UTC(), err == nil
}

// Backlog is what waits in a partition.
type Backlog struct {
	Waiting int64         // entries of accepted orders
	Oldest  time.Duration // how long the first of them has waited
	Dead    int64         // dead letters
}

// Backlog returns what waits in the partition.
func (s *Store) Backlog(ctx context.Context, partition int) (b Backlog, err error) {
	var (
		waiting, dead *redis.IntCmd
		first         *redis.XMessageSliceCmd
	)
	_, err = s.commands.Pipelined(ctx, func(p redis.Pipeliner) error {
		waiting, dead = p.XLen(ctx, s.keys.orders(partition)), p.XLen(ctx, s.keys.dead(partition))
		first = p.XRangeN(ctx, s.keys.orders(partition), "-", "+", 1)
		return nil
	})
	if err != nil {
		return Backlog{}, translate(err)
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
	w := partition.Waiting{Orders: b.Waiting, Oldest: b.Oldest, DeadLetters: b.Dead, Node: s.addressOf(node)}
	if w.At, err = s.TimeIn(ctx, number); err != nil {
		return partition.Waiting{}, err
	}
	processor, _ := infoOf(ctx, node, "cpu") // what it does not say is 0
	w.Processor = processorTime(processor)
	if stream, err := s.commands.XInfoStream(ctx, s.keys.orders(number)).Result(); err == nil { // there is none before the first order
		w.Added = stream.EntriesAdded
	}
	return w, nil
}

// processorTime is what a server has had, from its INFO; 0 where it does not say.
func processorTime(cpu map[string]string) time.Duration {
	var seconds float64
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		part, _ := strconv.ParseFloat(cpu[name], 64)
		seconds += part
	}
	return time.Duration(seconds * float64(time.Second))
}

package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"seckill/internal/order/partition"
	"seckill/internal/redisstore"
)

// TakePartitions makes the partitions of Redis this ledger's, and adds those of 0 to n - 1 that are missing. A
// partition with data of another format or another installation refuses the start: then nothing is added, and nothing
// was written in Redis. A server that does not answer refuses it only where a partition is to be added: the sales of
// the others go on.
func (s *Stores) TakePartitions(ctx context.Context, n int, log *slog.Logger) error {
	all, err := s.Ledger.Partitions(ctx)
	if err != nil {
		return err
	}
	missing := partition.Missing(all, n)
	numbers := append(slices.Clone(s.partitions.All()), missing...)
	// First all are looked at: this may be another installation's Redis, which has fewer.
	for _, do := range []func(context.Context, int) error{s.Redis.CheckFormat, s.Redis.Take} {
		failed := inPartitions(numbers, func(number int) error { return do(ctx, number) })
		if err := otherDataOf(failed); err != nil {
			return err
		}
		for number, err := range failed {
			if slices.Contains(missing, number) {
				return fmt.Errorf("adding partition %d: %w", number, err)
			}
			log.WarnContext(ctx, "what a partition has in Redis is not known yet", "partition", number, "error", err)
		}
	}
	added, err := s.Ledger.AddPartitions(ctx, n)
	if err != nil {
		return err
	}
	if len(added) > 0 {
		log.InfoContext(ctx, "partitions added", "partitions", added)
	}
	return s.partitions.Refresh(ctx)
}

// otherDataOf returns which partitions have other data, of those where something failed, in their order.
func otherDataOf(failed map[int]error) error {
	var others []error
	for _, number := range slices.Sorted(maps.Keys(failed)) {
		if other, is := errors.AsType[*redisstore.FormatError](failed[number]); is {
			others = append(others, other)
		}
	}
	return errors.Join(others...)
}

// checkFormats has a command leave partitions with other data alone, which are logged. It writes nothing.
func (s *Stores) checkFormats(ctx context.Context) {
	_ = inPartitions(s.partitions.All(), func(number int) error { return s.Redis.CheckFormat(ctx, number) })
}

// OtherData returns the partitions that are left alone because they have other data.
func (s *Stores) OtherData() []int {
	return slices.DeleteFunc(slices.Clone(s.partitions.All()), func(number int) bool {
		return s.Redis.OtherData(number) == nil
	})
}

// inPartitions does something in partitions, in all at once, and returns what failed.
func inPartitions(numbers []int, do func(number int) error) map[int]error {
	var (
		doing  sync.WaitGroup
		mu     sync.Mutex
		failed = map[int]error{}
	)
	for _, number := range numbers {
		doing.Go(func() {
			if err := do(number); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[number] = err
			}
		})
	}
	doing.Wait()
	return failed
}

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

// TakePartitions marks the partitions of Redis as this ledger's, and adds the missing partitions among 0 to n - 1. If a
// partition has data of another format or another installation, it returns an error, has added nothing, and has written
// nothing to Redis. For a server that does not answer it returns an error only if a partition must be added: the sales
// of the other partitions go on.
func (s *Stores) TakePartitions(ctx context.Context, n int, log *slog.Logger) error {
	all, err := s.Ledger.Partitions(ctx)
	if err != nil {
		return err
	}
	missing := partition.Missing(all, n)
	numbers := append(slices.Clone(s.partitions.All()), missing...)
	// Check all partitions before taking one: this may be the Redis of another installation with fewer partitions.
	for _, do := range []func(context.Context, int) error{s.Redis.CheckFormat, s.Redis.Take} {
		failed := inPartitions(numbers, func(number int) error { return do(ctx, number) })
		if err := otherDataOf(failed); err != nil {
			return err
		}
		for number, err := range failed {
			if slices.Contains(missing, number) {
				return fmt.Errorf("adding partition %d: %w", number, err)
			}
			log.WarnContext(ctx, "a partition's data in Redis cannot be checked yet", "partition", number, "error", err)
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

// otherDataOf joins the errors of the partitions whose data have another format or belong to another installation; nil
// if there are none. Other failures are left out.
func otherDataOf(failed map[int]error) error {
	var others []error
	for _, number := range slices.Sorted(maps.Keys(failed)) {
		if other, is := errors.AsType[*redisstore.FormatError](failed[number]); is {
			others = append(others, other)
		}
	}
	return errors.Join(others...)
}

// checkFormats makes a command skip partitions with other data, and logs them. It writes nothing.
func (s *Stores) checkFormats(ctx context.Context) {
	_ = inPartitions(s.partitions.All(), func(number int) error { return s.Redis.CheckFormat(ctx, number) })
}

// OtherData returns the partitions that are skipped because they have other data.
func (s *Stores) OtherData() []int {
	return slices.DeleteFunc(slices.Clone(s.partitions.All()), func(number int) bool {
		return s.Redis.OtherData(number) == nil
	})
}

// inPartitions calls do for all partitions at once, and returns the errors by partition.
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

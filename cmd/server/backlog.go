package main

import (
	"context"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/partition"
	"seckill/internal/redisstore"
	"seckill/internal/telemetry"
)

// backlogEvery is how often the backlog's metrics are refreshed.
const backlogEvery = time.Second

// watchBacklog sets the metrics of accepted orders that wait to be recorded, and of dead letters, until ctx ends: those of each
// partition by themselves, so that one that does not answer hides no other's.
func watchBacklog(ctx context.Context, partitions *partition.Set, redis *redisstore.Store, metrics *telemetry.Metrics) error {
	return partitions.Each(ctx, func(ctx context.Context, partition int) error {
		metrics.SetBacklogUnknown(partition)
		defer metrics.ForgetBacklog(partition)
		ticker := time.NewTicker(backlogEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			call, cancel := context.WithTimeout(ctx, order.RedisTimeout)
			b, err := redis.Backlog(call, partition)
			cancel()
			if err != nil {
				metrics.SetBacklogUnknown(partition)
				continue
			}
			metrics.SetBacklog(partition, telemetry.Backlog{Entries: b.Waiting, Oldest: b.Oldest, DeadLetters: b.Dead})
		}
	})
}

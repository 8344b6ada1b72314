package main

import (
	"context"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/order"
	"seckill/internal/order/partition"
	"seckill/internal/redisstore"
	"seckill/internal/telemetry"
)

// backlogEvery is how often the backlog's metrics are refreshed.
const backlogEvery = time.Second

// watchBacklog sets the metrics of orders that wait to be recorded, and of dead letters, until ctx ends. It reads each
// partition on its own, so that a partition that does not answer does not hide the others.
func watchBacklog(
	ctx context.Context, partitions *partition.Set, redis *redisstore.Store, metrics *telemetry.Metrics,
) error {
	return partitions.Each(ctx, func(ctx context.Context, partition int) error {
		metrics.SetBacklogUnknown(partition)
		defer metrics.ForgetBacklog(partition)
		return periodic.Every(ctx, backlogEvery, func(ctx context.Context) {
			call, cancel := context.WithTimeout(ctx, order.RedisTimeout)
			defer cancel()
			b, err := redis.Backlog(call, partition)
			if err != nil {
				metrics.SetBacklogUnknown(partition)
				return
			}
			metrics.SetBacklog(partition, telemetry.Backlog{Entries: b.Waiting, Oldest: b.Oldest, DeadLetters: b.Dead})
		})
	})
}

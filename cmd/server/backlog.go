package main

import (
	"context"
	"time"

	"seckill/internal/redisstore"
	"seckill/internal/telemetry"
)

// backlogEvery is how often the backlog's metrics are refreshed.
const backlogEvery = time.Second

// watchBacklog sets the metrics of accepted orders that wait to be recorded, and of dead letters, until ctx ends.
func watchBacklog(ctx context.Context, redis *redisstore.Store, metrics *telemetry.Metrics) error {
	ticker := time.NewTicker(backlogEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		b, err := redis.Backlog(ctx, partition)
		if err != nil {
			metrics.SetBacklogUnknown()
			continue
		}
		metrics.SetBacklog(b.Waiting, b.Oldest, b.Dead)
	}
}

package checklist

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/redisstore/rediskit"
)

// inspectTTL is how long the key exists that an inspection writes.
const inspectTTL = 10 * time.Second

// servers is the Redis servers that have the partitions.
type servers struct {
	partitions rediskit.Partitions
	prefix     string // of every key
	alone      bool   // the embedded mode's, inside this process
}

// keyIn is written by an inspection of the partition's server, to measure how long a write takes (string). It expires.
// On a cluster it is in the partition.
func (s servers) keyIn(partition int) string {
	if _, cluster := s.partitions.In(partition).(*redis.ClusterClient); cluster {
		return s.partitions.Key(partition, "inspected")
	}
	return s.prefix + "inspected"
}

// inspect reads from the partition's server the facts on which its sales depend. Facts that the server hides (managed
// ones do) stay empty; for the embedded server it only measures the speed.
func (s servers) inspect(ctx context.Context, number int) (r Redis, err error) {
	node, err := rediskit.Node(ctx, s.partitions.In(number), s.partitions.Key(number, "inspected"))
	if err != nil {
		return r, err
	}
	key := s.keyIn(number)
	if r.Answer, err = median(func() error { return node.Ping(ctx).Err() }); err != nil {
		return r, fmt.Errorf("asking Redis: %w", rediskit.Translate(err))
	}
	if r.Write, err = median(func() error { return node.Set(ctx, key, "1", inspectTTL).Err() }); err != nil {
		return r, fmt.Errorf("writing to Redis: %w", rediskit.Translate(err))
	}
	if s.alone {
		return r, nil
	}
	asked := time.Now()
	now, err := node.Time(ctx).Result()
	if err != nil {
		return r, fmt.Errorf("asking Redis for the time: %w", rediskit.Translate(err))
	}
	r.Ahead = now.Sub(asked.Add(time.Since(asked) / 2))
	if err := rediskit.ShowsRunID(ctx, node); errors.Is(err, rediskit.ErrNoRunID) {
		r.NoInfo = true
	} else if err != nil {
		return r, err
	}
	if !r.NoInfo {
		if r.Used, r.Limit, err = rediskit.MemoryOf(ctx, node); err != nil {
			return r, err
		}
	}
	inspectSettings(ctx, node, &r)
	return r, nil
}

// inspectSettings adds the settings and the state that a server shows.
func inspectSettings(ctx context.Context, node redis.Cmdable, r *Redis) {
	setting := func(name string) string {
		values, _ := node.ConfigGet(ctx, name).Result() // empty if the server hides it
		return values[name]
	}
	r.AppendOnly, r.AppendFsync, r.Eviction = setting("appendonly"), setting("appendfsync"), setting("maxmemory-policy")
	r.FailedWrites = rediskit.Info(ctx, node, "persistence")["aof_last_write_status"] == "err"
	r.Replicas, _ = strconv.Atoi(rediskit.Info(ctx, node, "replication")["connected_slaves"])
}

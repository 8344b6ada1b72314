package rediskit

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Memory returns how many bytes Redis uses and may use; 0: no limit. In a cluster they are those of the master that
// uses the greatest part of its own memory.
func Memory(ctx context.Context, client redis.UniversalClient) (used, limit int64, err error) {
	cluster, is := client.(*redis.ClusterClient)
	if !is {
		return MemoryOf(ctx, client)
	}
	var mu sync.Mutex
	err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		nodeUsed, nodeLimit, err := MemoryOf(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && fuller(nodeUsed, nodeLimit, used, limit) {
			used, limit = nodeUsed, nodeLimit
		}
		return err
	})
	return used, limit, Translate(err)
}

// fuller reports whether the first node uses a greater part of its memory than the second; without limits, more memory.
func fuller(used, limit, thanUsed, thanLimit int64) bool {
	if limit == 0 || thanLimit == 0 {
		return used > thanUsed
	}
	return float64(used)/float64(limit) > float64(thanUsed)/float64(thanLimit)
}

// MemoryOf is Memory for one server.
func MemoryOf(ctx context.Context, node redis.Cmdable) (used, limit int64, err error) {
	values, err := info(ctx, node, "memory")
	if err != nil {
		return 0, 0, fmt.Errorf("asking Redis for its memory: %w", Translate(err))
	}
	for name, number := range map[string]*int64{"used_memory": &used, "maxmemory": &limit} {
		if value, shown := values[name]; shown {
			if *number, err = strconv.ParseInt(value, 10, 64); err != nil {
				return 0, 0, fmt.Errorf("redis returned %q for its %s", value, name)
			}
		}
	}
	return used, limit, nil
}

package rediskit

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// Node returns the server that has the key, for commands without a key: a cluster's client would send these to any
// node. Error: order.ErrUnavailable.
func Node(ctx context.Context, client redis.UniversalClient, key string) (redis.UniversalClient, error) {
	cluster, is := client.(*redis.ClusterClient)
	if !is {
		return client, nil
	}
	node, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("redis: %w: the node of key %q: %w", order.ErrUnavailable, key, err)
	}
	return node, nil
}

// AddressOf returns the address of a cluster's node; "" if the client knows only one server.
func AddressOf(client, node redis.UniversalClient) string {
	if _, cluster := client.(*redis.ClusterClient); !cluster {
		return ""
	}
	return node.(*redis.Client).Options().Addr
}

// Info returns a section of a server's INFO; nothing if the server hides it.
func Info(ctx context.Context, node redis.Cmdable, section string) map[string]string {
	text, _ := node.Info(ctx, section).Result()
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			values[name] = value
		}
	}
	return values
}

package rediskit

import (
	"context"
	"errors"
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
	values, _ := info(ctx, node, section)
	return values
}

// info returns a section of a server's INFO.
func info(ctx context.Context, node redis.Cmdable, section string) (map[string]string, error) {
	text, err := node.Info(ctx, section).Result()
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			values[name] = value
		}
	}
	return values, err
}

// ErrNoRunID says that Redis does not show its run id, by which the scripts of a sale notice a restart or a failover.
var ErrNoRunID = errors.New("redis shows no run id")

// ShowsRunID returns ErrNoRunID, wrapped, if the server does not show its run id, for example to a user who may not
// call INFO.
func ShowsRunID(ctx context.Context, node redis.Cmdable) error {
	text, err := node.Info(ctx, "server").Result()
	var reply redis.Error
	switch {
	case errors.As(err, &reply) && !HadNoEffect(err):
		return fmt.Errorf("%w: %w", ErrNoRunID, err)
	case err != nil:
		return Translate(err)
	case !strings.Contains(text, "run_id:"):
		return ErrNoRunID
	}
	return nil
}

package lock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Mutexes returns the names of the mutexes that somebody has, or had within the last seconds, in order. It is for
// operators: it looks through all keys of Redis, 1,000 at a time.
func (l *Locker) Mutexes(ctx context.Context) ([]string, error) {
	var mu sync.Mutex
	var names []string
	look := func(ctx context.Context, node redis.Cmdable) error {
		pattern := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(l.prefix) + "{lock:*}:mutex:*"
		for keys := node.Scan(ctx, 0, pattern, 1000).Iterator(); ; {
			if !keys.Next(ctx) {
				return keys.Err()
			}
			_, name, _ := strings.Cut(strings.TrimPrefix(keys.Val(), l.prefix), "}:mutex:")
			mu.Lock()
			names = append(names, name)
			mu.Unlock()
		}
	}
	var err error
	switch c := l.client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return look(ctx, node) })
	case redis.Cmdable:
		err = look(ctx, c)
	default:
		return nil, fmt.Errorf("list locks: a %T cannot look through keys", l.client)
	}
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

package inspect

import (
	"context"
	"errors"
	"fmt"

	"seckill/internal/redisstore/rediskit"
)

// CheckConfig reads Redis's settings and logs a warning for each that can lose orders. It returns an error only when
// Redis does not answer at all. If the server hides its settings (managed ones do), it logs that at debug level. In a
// cluster or behind Sentinels it asks one node.
func (s *Servers) CheckConfig(ctx context.Context) error {
	if err := s.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis does not answer: %w", rediskit.Translate(err))
	}
	if err := rediskit.ShowsRunID(ctx, s.client); errors.Is(err, rediskit.ErrNoRunID) {
		s.log.WarnContext(ctx, "a restart or a failover of Redis would not be noticed, and buyers be let in over "+
			"orders that it lost: let its user run INFO (ACL SETUSER <name> +info)", "error", err)
	}
	s.checkConfig(ctx, "maxmemory-policy", func(value string) bool { return value == "noeviction" },
		"when memory runs out, Redis may delete sales, holders and accepted orders: set "+
			"maxmemory-policy to noeviction")
	s.checkConfig(ctx, "appendonly", func(value string) bool { return value == "yes" },
		"Redis keeps no append-only file: accepted orders that are not recorded yet are lost when it "+
			"stops; set appendonly to yes")
	s.checkConfig(ctx, "appendfsync", func(value string) bool { return value != "no" },
		"Redis never flushes its append-only file: a power loss loses the accepted orders of up to "+
			"half a minute; set appendfsync to always, or to everysec to risk the last second or two")
	return nil
}

// checkConfig logs the warning unless a setting's value is safe.
func (s *Servers) checkConfig(ctx context.Context, setting string, safe func(value string) bool, warning string) {
	values, err := s.client.ConfigGet(ctx, setting).Result()
	value, known := values[setting]
	switch {
	case err != nil || !known:
		s.log.DebugContext(ctx, "redis does not show a setting", "setting", setting, "error", err)
	case !safe(value):
		s.log.WarnContext(ctx, warning, "setting", setting, "value", value)
	}
}

// RunID returns rediskit.ErrNoRunID, wrapped, if the partition's server does not show its run id, for example to a user
// who may not call INFO.
func (s *Servers) RunID(ctx context.Context, partition int) error {
	if s.alone {
		return nil // its Redis ends with this process
	}
	node, err := s.node(ctx, partition)
	if err != nil {
		return err
	}
	return rediskit.ShowsRunID(ctx, node)
}

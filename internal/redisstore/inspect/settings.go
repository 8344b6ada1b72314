package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/internal/redisstore/rediskit"
)

// CheckConfig reads Redis's settings and logs a warning for each that can lose orders. It returns an error only when
// Redis does not answer at all. If the server hides its settings (managed ones do), it logs that at debug level. In a
// cluster or behind Sentinels it asks one node.
func (s *Servers) CheckConfig(ctx context.Context) error {
	if err := s.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis does not answer: %w", rediskit.Translate(err))
	}
	if err := showsRunID(ctx, s.client); errors.Is(err, ErrNoRunID) {
		s.log.WarnContext(ctx, "a restart or a failover of Redis would not be noticed, and buyers be let in over "+
			"orders that it lost: let its user run INFO (ACL SETUSER <name> +info)", "error", err)
	}
	s.checkConfig(ctx, "maxmemory-policy", func(value string) string {
		if value == "noeviction" {
			return ""
		}
		return "when memory runs out, Redis may delete sales, holders and accepted orders: set " +
			"maxmemory-policy to noeviction"
	})
	s.checkConfig(ctx, "appendonly", func(value string) string {
		if value == "yes" {
			return ""
		}
		return "Redis keeps no append-only file: accepted orders that are not recorded yet are lost when it " +
			"stops; set appendonly to yes"
	})
	s.checkConfig(ctx, "appendfsync", func(value string) string {
		if value != "no" {
			return ""
		}
		return "Redis never flushes its append-only file: a power loss loses the accepted orders of up to " +
			"half a minute; set appendfsync to always, or to everysec to risk the last second or two"
	})
	return nil
}

// checkConfig logs problem's text about one setting, unless that is empty.
func (s *Servers) checkConfig(ctx context.Context, setting string, problem func(value string) string) {
	values, err := s.client.ConfigGet(ctx, setting).Result()
	value, known := values[setting]
	if err != nil || !known {
		s.log.DebugContext(ctx, "redis does not show a setting", "setting", setting, "error", err)
		return
	}
	if text := problem(value); text != "" {
		s.log.WarnContext(ctx, text, "setting", setting, "value", value)
	}
}

// ErrNoRunID says that Redis does not show its run id, by which the scripts of a sale notice a restart or a failover.
var ErrNoRunID = errors.New("redis shows no run id")

// RunID returns ErrNoRunID, wrapped, if the partition's server does not show its run id, as to a user without the
// right to INFO.
func (s *Servers) RunID(ctx context.Context, partition int) error {
	if s.options.Alone {
		return nil // its Redis ends with this process
	}
	node, err := s.node(ctx, partition)
	if err != nil {
		return err
	}
	return showsRunID(ctx, node)
}

// showsRunID is RunID for a server.
func showsRunID(ctx context.Context, node redis.Cmdable) error {
	text, err := node.Info(ctx, "server").Result()
	var reply redis.Error
	switch {
	case errors.As(err, &reply) && !rediskit.HadNoEffect(err):
		return fmt.Errorf("%w: %w", ErrNoRunID, err)
	case err != nil:
		return rediskit.Translate(err)
	case !strings.Contains(text, "run_id:"):
		return ErrNoRunID
	}
	return nil
}

package redisstore

import (
	"context"
	"fmt"
)

// Examine asks Redis how it is set up and warns in the log of settings that can lose orders. It returns an error only
// when Redis does not answer at all. A server that does not show its settings (managed ones forbid it) is not known to
// be well: that is noted at debug level. Of a cluster or behind Sentinels, one node is asked.
func (s *Store) Examine(ctx context.Context) error {
	if err := s.commands.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis does not answer: %w", translate(err))
	}
	s.examine(ctx, "maxmemory-policy", func(value string) string {
		if value == "noeviction" {
			return ""
		}
		return "when memory runs out, Redis may delete sales, places and accepted orders: set maxmemory-policy to noeviction"
	})
	s.examine(ctx, "appendonly", func(value string) string {
		if value == "yes" {
			return ""
		}
		return "Redis keeps no append-only file: accepted orders that are not recorded yet are lost when it stops; set appendonly to yes"
	})
	s.examine(ctx, "appendfsync", func(value string) string {
		if value != "no" {
			return ""
		}
		return "Redis never flushes its append-only file: a power loss loses the accepted orders of up to half a minute; " +
			"set appendfsync to always, or to everysec to risk the last second or two"
	})
	return nil
}

// examine logs what is wrong with one setting, in the words of verdict.
func (s *Store) examine(ctx context.Context, setting string, verdict func(value string) string) {
	values, err := s.commands.ConfigGet(ctx, setting).Result()
	value, known := values[setting]
	if err != nil || !known {
		s.log.DebugContext(ctx, "redis does not show a setting", "setting", setting, "error", err)
		return
	}
	if wrong := verdict(value); wrong != "" {
		s.log.WarnContext(ctx, wrong, "setting", setting, "value", value)
	}
}

// Ping asks whether Redis answers; for readiness.
func (s *Store) Ping(ctx context.Context) error { return translate(s.commands.Ping(ctx).Err()) }

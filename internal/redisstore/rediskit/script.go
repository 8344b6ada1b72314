package rediskit

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/scripts"
)

// Script is a Lua script and the digest under which Redis caches it.
type Script struct{ Source, Digest string }

// NewScript returns the script of that name.
func NewScript(name string) Script {
	source := scripts.Source(name)
	return Script{Source: source, Digest: redis.NewScript(source).Hash()}
}

// Once wraps a command that the client must not send twice by itself. The plain client's settings prevent that, but the
// cluster client retries after network errors whatever its settings. It could then report a refused connection for a
// script that ran, or read new entries twice and return only the second batch.
type Once struct{ redis.Cmder }

// NoRetry is the method that the client calls before it sends a command again.
func (Once) NoRetry() bool { return true }

// Run calls the script by its digest, and by its source if Redis does not have it: a NOSCRIPT reply certainly had no
// effect. It translates errors.
func (s Script) Run(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redis: %w: %w", order.ErrUnavailable, err) // nothing is sent
	}
	cmd := s.Command(ctx, "evalsha", s.Digest, keys, args)
	err := client.Process(ctx, Once{cmd})
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = s.Command(ctx, "eval", s.Source, keys, args)
		err = client.Process(ctx, Once{cmd})
	}
	if err != nil {
		return nil, Translate(err)
	}
	reply, err := cmd.Result()
	return reply, Translate(err)
}

// Command returns a call of the script, without sending it.
func (s Script) Command(ctx context.Context, verb, text string, keys []string, args []any) *redis.Cmd {
	line := make([]any, 0, 3+len(keys)+len(args))
	line = append(line, verb, text, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	cmd := redis.NewCmd(ctx, append(line, args...)...)
	cmd.SetFirstKeyPos(3) // the cluster client finds the slot there
	return cmd
}

// RunInt is Run for a script that returns a number.
func (s Script) RunInt(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) (int64, error) {
	return Number(s.Run(ctx, client, keys, args...))
}

// Number returns a script's answer as a number.
func Number(reply any, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("redis: a script answered %T, not a number", reply)
	}
	return n, nil
}

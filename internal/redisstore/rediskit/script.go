package rediskit

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/scripts"
)

// Script is one Lua script and the digest by which Redis caches it.
type Script struct{ Source, Digest string }

// NewScript returns the script of that name.
func NewScript(name string) Script {
	source := scripts.Source(name)
	return Script{Source: source, Digest: redis.NewScript(source).Hash()}
}

// Once is a command that the client must not send a second time by itself. The plain client's settings see to that; the
// cluster client retries after network errors whatever its settings. It could then report a refused connection for a
// script that ran, or read new entries twice and return only the second lot.
type Once struct{ redis.Cmder }

// NoRetry is what the client asks before it sends a command again.
func (Once) NoRetry() bool { return true }

// Run calls the script by its digest, and by its source if Redis does not have it: a NOSCRIPT reply certainly had no
// effect. Errors are translated.
func (s Script) Run(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redis: %w: %w", order.ErrUnavailable, err) // nothing is sent
	}
	reply, err := s.eval(ctx, client, "evalsha", s.Digest, keys, args)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = s.eval(ctx, client, "eval", s.Source, keys, args)
	}
	return reply, Translate(err)
}

func (s Script) eval(
	ctx context.Context, client redis.UniversalClient, verb, text string, keys []string, args []any,
) (any, error) {
	cmd := s.Command(ctx, verb, text, keys, args)
	if err := client.Process(ctx, Once{cmd}); err != nil {
		return nil, err
	}
	return cmd.Result()
}

// Command is a call of the script that is not sent yet.
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

// RunInt is run for a script that answers a number.
func (s Script) RunInt(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) (int64, error) {
	return Number(s.Run(ctx, client, keys, args...))
}

// Number is an answer that has to be one.
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

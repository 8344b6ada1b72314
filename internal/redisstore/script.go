package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/scripts"
)

// script is one Lua script and the digest by which Redis caches it.
type script struct{ source, digest string }

func newScript(source string) script {
	return script{source: source, digest: redis.NewScript(source).Hash()}
}

// scriptSet is the scripts of this package.
type scriptSet struct {
	seckill, correct, apply, views, holdings            script
	begin, setHolders, requeue, publish, drop           script
	reportHeartbeat, report, roundProgress              script
	acknowledge, deadLetter, heartbeat, takeOver, leave script
	replay, addCounts, addGuardCounts, inventory        script
	exchangeSpending, unpackLetter                      script
}

func newScriptSet() scriptSet {
	return scriptSet{
		seckill: newScript(scripts.Seckill), correct: newScript(scripts.Correct), apply: newScript(scripts.Apply),
		views: newScript(scripts.Views), holdings: newScript(scripts.Holdings),
		begin: newScript(scripts.BeginRebuild), setHolders: newScript(scripts.SetHolders), requeue: newScript(scripts.Requeue),
		reportHeartbeat: newScript(scripts.ReportHeartbeat), report: newScript(scripts.Report), roundProgress: newScript(scripts.RoundProgress),
		publish: newScript(scripts.Publish), drop: newScript(scripts.Drop), acknowledge: newScript(scripts.Acknowledge),
		deadLetter: newScript(scripts.DeadLetter), heartbeat: newScript(scripts.Heartbeat), takeOver: newScript(scripts.TakeOver),
		leave: newScript(scripts.Leave), replay: newScript(scripts.Replay), addCounts: newScript(scripts.AddCounts),
		addGuardCounts: newScript(scripts.AddGuardCounts), unpackLetter: newScript(scripts.UnpackLetter),
		inventory: newScript(scripts.Inventory), exchangeSpending: newScript(scripts.ExchangeSpending),
	}
}

// once is a command that the client must not send a second time by itself. The plain client's settings see to that; the
// cluster client retries after network errors whatever its settings. It could then report a refused connection for a
// script that ran, or read new entries twice and return only the second lot.
type once struct{ redis.Cmder }

// NoRetry is what the client asks before it sends a command again.
func (once) NoRetry() bool { return true }

// run calls the script by its digest, and by its source if Redis does not have it: a NOSCRIPT reply certainly had no
// effect. Errors are translated.
func (s script) run(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redis: %w: %w", order.ErrUnavailable, err) // nothing is sent
	}
	reply, err := s.eval(ctx, client, "evalsha", s.digest, keys, args)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = s.eval(ctx, client, "eval", s.source, keys, args)
	}
	return reply, translate(err)
}

func (s script) eval(ctx context.Context, client redis.UniversalClient, verb, text string, keys []string, args []any) (any, error) {
	cmd := s.command(ctx, verb, text, keys, args)
	if err := client.Process(ctx, once{cmd}); err != nil {
		return nil, err
	}
	return cmd.Result()
}

// command is a call of the script that is not sent yet.
func (s script) command(ctx context.Context, verb, text string, keys []string, args []any) *redis.Cmd {
	line := make([]any, 0, 3+len(keys)+len(args))
	line = append(line, verb, text, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	cmd := redis.NewCmd(ctx, append(line, args...)...)
	cmd.SetFirstKeyPos(3) // the cluster client finds the slot there
	return cmd
}

// runInt is run for a script that answers a number.
func (s script) runInt(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) (int64, error) {
	reply, err := s.run(ctx, client, keys, args...)
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("redis: a script answered %T, not a number", reply)
	}
	return n, nil
}

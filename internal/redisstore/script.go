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

// newScript returns the script of that name.
func newScript(name string) script {
	source := scripts.Source(name)
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
	checkFormat, createGroup                            script
}

func newScriptSet() scriptSet {
	return scriptSet{
		seckill: newScript("seckill"), correct: newScript("correct"), apply: newScript("apply"),
		views: newScript("views"), holdings: newScript("holdings"),
		begin: newScript("begin_rebuild"), setHolders: newScript("set_holders"), requeue: newScript("requeue"),
		publish: newScript("publish"), drop: newScript("drop"),
		reportHeartbeat: newScript("report_heartbeat"), report: newScript("report"),
		roundProgress: newScript("round_progress"), acknowledge: newScript("acknowledge"),
		deadLetter: newScript("dead_letter"), heartbeat: newScript("heartbeat"),
		takeOver: newScript("take_over"), leave: newScript("leave"), replay: newScript("replay"),
		addCounts: newScript("add_counts"), addGuardCounts: newScript("add_guard_counts"),
		inventory:        newScript("inventory"),
		exchangeSpending: newScript("exchange_spending"), unpackLetter: newScript("unpack_letter"),
		checkFormat: newScript("check_format"), createGroup: newScript("create_group"),
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

func (s script) eval(
	ctx context.Context, client redis.UniversalClient, verb, text string, keys []string, args []any,
) (any, error) {
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
	return number(s.run(ctx, client, keys, args...))
}

// number is an answer that has to be one.
func number(reply any, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("redis: a script answered %T, not a number", reply)
	}
	return n, nil
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/batch"
	"seckill/internal/order"
)

const (
	// maxSends is how many sends are under way at once. Two: while Redis works on one, the answers of the other are read
	// and its successor is gathered.
	maxSends = 2
	// maxCalls is how many calls one send has at most: Redis serves a send to its end before anybody else.
	maxCalls = 64
)

// pipeliner calls one script for several callers, each with keys of its own. Callers that come while maxSends sends are
// under way share the next one: one write, one read, and one turn of Redis's loop for all of them. A rush on one sale,
// which calls for one batch after the other, never shares a send; a rush on a thousand sales does.
//
// The calls of a send have nothing else in common: each has its own answer, and its own error where Redis refuses it.
// When the connection fails, all of them are unknown, as each would be by itself. Where replicas are to confirm what was
// done, they are asked once for each send, behind its last call.
type pipeliner struct {
	client    redis.UniversalClient
	script    script
	unbatched bool // calls share no sends: the cluster client repeats what it got no answer for
	replicas  Replicas
	question  string // the key that is written to ask them
	sends     *batch.Batcher[*pendingCall, struct{}]
}

// pendingCall is a call of the script and its answer.
type pendingCall struct {
	cmd      *redis.Cmd
	deadline time.Time // until when its caller waits; zero: without end
	doubt    error     // wraps errUnconfirmed when the answer is one that too few replicas have confirmed
}

func newPipeliner(client redis.UniversalClient, s script, r Replicas, question string) *pipeliner {
	_, cluster := client.(*redis.ClusterClient)
	c := &pipeliner{client: client, script: s, unbatched: cluster, replicas: r, question: question}
	c.sends = batch.New(batch.Options{Size: maxCalls, Calls: maxSends, Inline: true}, func(ctx context.Context, items []*batch.Item[*pendingCall, struct{}]) error {
		calls := make([]*pendingCall, len(items))
		for i, it := range items {
			calls[i] = it.Request
		}
		c.send(ctx, calls)
		return nil // each call has its own error
	})
	return c
}

// run calls the script as script.run does, with the same errors, and with its source if Redis does not have the script.
// Together with an answer that too few replicas have confirmed it returns an error that wraps errUnconfirmed. The arguments
// may be read until the answer is there, even if ctx ends sooner: they must not change.
func (c *pipeliner) run(ctx context.Context, keys []string, args ...any) (any, error) {
	p := c.newCall(ctx, "evalsha", c.script.digest, keys, args)
	if err := c.share(ctx, p); err != nil {
		return nil, err
	}
	if redis.HasErrorPrefix(p.cmd.Err(), "NOSCRIPT") {
		p = c.newCall(ctx, "eval", c.script.source, keys, args)
		c.send(ctx, []*pendingCall{p})
	}
	return p.answer()
}

// share sends the call, with others if it may. An error says that the caller gave up; it is ErrUnavailable when nothing was
// sent.
func (c *pipeliner) share(ctx context.Context, p *pendingCall) error {
	if c.unbatched && ctx.Err() == nil {
		c.send(ctx, []*pendingCall{p})
		return nil
	}
	_, err := c.sends.Do(ctx, p)
	switch {
	case errors.Is(err, batch.ErrNotSent):
		return fmt.Errorf("redis: %w: %w", order.ErrUnavailable, err)
	case err != nil:
		return fmt.Errorf("redis: %w", err)
	default:
		return nil
	}
}

func (c *pipeliner) newCall(ctx context.Context, verb, text string, keys []string, args []any) *pendingCall {
	p := &pendingCall{cmd: c.script.command(ctx, verb, text, keys, args)}
	p.deadline, _ = ctx.Deadline()
	return p
}

// answer is what came of the call, once it was sent.
func (p *pendingCall) answer() (any, error) {
	reply, err := p.cmd.Result()
	if err != nil {
		return nil, translate(err)
	}
	return reply, p.doubt
}

// send sends calls together and waits for their answers.
func (c *pipeliner) send(ctx context.Context, calls []*pendingCall) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = withLongest(ctx, calls)
		defer cancel()
	}
	if len(calls) == 1 && c.replicas.Count == 0 {
		_ = c.client.Process(ctx, once{calls[0].cmd}) // a command has its own error
		return
	}
	pipe := c.client.Pipeline()
	for _, p := range calls {
		_ = pipe.Process(ctx, p.cmd) // it is queued; a command has its own error
	}
	doubt := func() error { return nil }
	if c.replicas.Count > 0 {
		doubt = c.replicas.ask(ctx, pipe, c.question).err
	}
	_, _ = pipe.Exec(ctx) // as above
	err := doubt()
	for _, p := range calls {
		p.doubt = err
	}
}

// withLongest ends ctx when the most patient caller gives up; never, if one of them waits without end.
func withLongest(ctx context.Context, calls []*pendingCall) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, p := range calls {
		if p.deadline.IsZero() {
			return ctx, func() {}
		}
		if p.deadline.After(last) {
			last = p.deadline
		}
	}
	return context.WithDeadline(ctx, last)
}

package redisstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

const (
	// maxConvoys is how many sends are under way at once. Two: while Redis works on one, the answers of the other are read
	// and its successor is gathered.
	maxConvoys = 2
	// maxPassengers is how many calls travel in one send at most: Redis serves a send to its end before anybody else.
	maxPassengers = 64
)

// convoy calls one script for several callers, each with keys of his own. As long as few call, each has his call sent at
// once and by itself. Whoever comes while maxConvoys sends are under way travels in the next, together with all that came
// meanwhile: one write, one read, and one turn of Redis's loop for all of them. There is no timer. A rush on one sale,
// which calls for one batch after the other, never meets a convoy; a rush on a thousand sales is one.
//
// The calls of a convoy have nothing else in common: each has its own answer, and its own error where Redis refuses it.
// When the connection fails, all of them are unknown, as each would be alone. Where replicas are to confirm what was done,
// they are asked once for each send, behind its last call.
type convoy struct {
	client   redis.UniversalClient
	script   script
	alone    bool // nobody travels together: the cluster client sends what it got no answer for again
	replicas Replicas
	question string // the key that is written to ask them

	mu       sync.Mutex
	waiting  []*passenger
	underway int
}

// passenger is a call that waits for the next send.
type passenger struct {
	cmd      *redis.Cmd
	deadline time.Time     // until when its caller waits; zero: without end
	done     chan struct{} // closed once cmd has its answer
	doubt    error         // wraps errUnconfirmed when the answer is one that too few replicas have confirmed
}

func newConvoy(client redis.UniversalClient, s script, r Replicas, question string) *convoy {
	_, cluster := client.(*redis.ClusterClient)
	return &convoy{client: client, script: s, alone: cluster, replicas: r, question: question}
}

// run calls the script as script.run does, with the same errors. Together with an answer that too few replicas have
// confirmed it returns an error that wraps errUnconfirmed. The arguments may be read until the answer is there, even if ctx
// ends sooner: they must not change.
func (c *convoy) run(ctx context.Context, keys []string, args ...any) (any, error) {
	p := c.join(ctx, keys, args)
	if p == nil {
		reply, err := c.single(ctx, keys, args)
		c.next(context.WithoutCancel(ctx))
		return reply, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if c.leave(p) {
			return nil, fmt.Errorf("redis: %w: %w", order.ErrUnavailable, ctx.Err()) // it was never sent
		}
		return nil, fmt.Errorf("redis: %w", ctx.Err())
	}
	if redis.HasErrorPrefix(p.cmd.Err(), "NOSCRIPT") {
		return c.single(ctx, keys, args)
	}
	return p.answer()
}

// single sends one call by itself, and again with the script's source if Redis does not have the script.
func (c *convoy) single(ctx context.Context, keys []string, args []any) (any, error) {
	if c.replicas.Count == 0 {
		return c.script.run(ctx, c.client, keys, args...)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redis: %w: %w", order.ErrUnavailable, err) // nothing is sent
	}
	p := c.passenger(ctx, "evalsha", c.script.digest, keys, args)
	c.send(ctx, []*passenger{p})
	if redis.HasErrorPrefix(p.cmd.Err(), "NOSCRIPT") {
		p = c.passenger(ctx, "eval", c.script.source, keys, args)
		c.send(ctx, []*passenger{p})
	}
	return p.answer()
}

func (c *convoy) passenger(ctx context.Context, verb, text string, keys []string, args []any) *passenger {
	p := &passenger{cmd: c.script.command(ctx, verb, text, keys, args), done: make(chan struct{})}
	p.deadline, _ = ctx.Deadline()
	return p
}

// answer is what came of the call, once it has travelled.
func (p *passenger) answer() (any, error) {
	reply, err := p.cmd.Result()
	if err != nil {
		return nil, translate(err)
	}
	return reply, p.doubt
}

// join returns a passenger of the next send, or nil if the caller is to send his call himself and then to call next.
func (c *convoy) join(ctx context.Context, keys []string, args []any) *passenger {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alone || c.underway < maxConvoys {
		c.underway++
		return nil
	}
	p := c.passenger(ctx, "evalsha", c.script.digest, keys, args)
	c.waiting = append(c.waiting, p)
	return p
}

// leave takes a passenger out of the queue, and reports whether he was still in it.
func (c *convoy) leave(p *passenger) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, q := range c.waiting {
		if q == p {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// next ends a send and begins another one if somebody waits. That one takes as long as the most patient of its passengers
// waits, at most.
func (c *convoy) next(ctx context.Context) {
	if together := c.gather(); together != nil {
		go func() {
			for ; together != nil; together = c.gather() {
				c.send(ctx, together)
			}
		}()
	}
}

// gather returns those who travel in the next send, and nil if nobody waits; a send is then over.
func (c *convoy) gather() []*passenger {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.waiting), maxPassengers)
	if n == 0 {
		c.underway--
		return nil
	}
	together := c.waiting[:n:n]
	c.waiting = c.waiting[n:]
	if len(c.waiting) == 0 {
		c.waiting = nil // lets the memory of a crowd go
	}
	return together
}

// send sends the passengers' calls together and hands out the answers.
func (c *convoy) send(ctx context.Context, together []*passenger) {
	if last := longest(together); !last.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, last)
		defer cancel()
	}
	pipe := c.client.Pipeline()
	for _, p := range together {
		_ = pipe.Process(ctx, p.cmd) // it is queued; a command has its own error
	}
	doubt := func() error { return nil }
	if c.replicas.Count > 0 {
		doubt = c.replicas.ask(ctx, pipe, c.question).err
	}
	_, _ = pipe.Exec(ctx) // as above
	err := doubt()
	for _, p := range together {
		p.doubt = err
		close(p.done)
	}
}

// longest returns until when the most patient passenger waits; zero if one waits without end.
func longest(together []*passenger) (last time.Time) {
	for _, p := range together {
		if p.deadline.IsZero() {
			return time.Time{}
		}
		if p.deadline.After(last) {
			last = p.deadline
		}
	}
	return last
}

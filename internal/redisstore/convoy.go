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
// When the connection fails, all of them are unknown, as each would be alone.
type convoy struct {
	client redis.UniversalClient
	script script
	alone  bool // nobody travels together: the cluster client sends what it got no answer for again

	mu       sync.Mutex
	waiting  []*passenger
	underway int
}

// passenger is a call that waits for the next send.
type passenger struct {
	cmd      *redis.Cmd
	deadline time.Time     // until when its caller waits; zero: without end
	done     chan struct{} // closed once cmd has its answer
}

func newConvoy(client redis.UniversalClient, s script) *convoy {
	_, cluster := client.(*redis.ClusterClient)
	return &convoy{client: client, script: s, alone: cluster}
}

// run calls the script as script.run does, with the same errors. The arguments may be read until the answer is there,
// even if ctx ends sooner: they must not change.
func (c *convoy) run(ctx context.Context, keys []string, args ...any) (any, error) {
	p := c.join(ctx, keys, args)
	if p == nil {
		reply, err := c.script.run(ctx, c.client, keys, args...)
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
	reply, err := p.cmd.Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		return c.script.run(ctx, c.client, keys, args...)
	}
	return reply, translate(err)
}

// join returns a passenger of the next send, or nil if the caller is to send his call himself and then to call next.
func (c *convoy) join(ctx context.Context, keys []string, args []any) *passenger {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alone || c.underway < maxConvoys {
		c.underway++
		return nil
	}
	p := &passenger{cmd: c.script.command(ctx, "evalsha", c.script.digest, keys, args), done: make(chan struct{})}
	p.deadline, _ = ctx.Deadline()
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
	_, _ = pipe.Exec(ctx) // as above
	for _, p := range together {
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

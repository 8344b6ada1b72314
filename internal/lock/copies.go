package lock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// copyTime is how long replicas have at most to say that they have a lock.
const copyTime = time.Second

// WithCopies asks that at least n replicas have a lock before it is obtained; with fewer it is released again, and the
// error is ErrTooFewCopies. So it outlives a failover to one of them. They have a second for it, or half of a lease that
// is shorter. It costs a round trip to the replicas for each acquire, and while there are too few of them a refusal takes
// that time, too; that a lease was renewed is not waited for.
//
// It is Redis's command WAIT, of which Redis says that it makes the loss of a write at a failover unlikely, and not that
// it excludes it: a replica that does not have the lock may be the one that is promoted.
func WithCopies(n int) Option {
	return func(s *settings) { s.copies = n }
}

// runCopied runs a script that writes, and waits on the same connection until n replicas have what it wrote, or the time
// is over. It returns how many have; 0 when Redis does not say.
func (c call) runCopied(ctx context.Context, client Client, n int, within time.Duration) (*redis.Cmd, int, error) {
	type cluster interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	}
	if nodes, ok := client.(cluster); ok { // its pipelines send what has no key to any node
		node, err := nodes.MasterForKey(ctx, c.keys[0])
		if err != nil {
			return nil, 0, err
		}
		client = node
	}
	var answer, wait *redis.Cmd
	// What went wrong stands in each answer. The script's text goes along: if Redis had to ask for it, the replicas would be
	// waited for in vain before.
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		answer = c.script.Eval(ctx, p, c.keys, c.args...)
		wait = p.Do(ctx, "WAIT", n, within.Milliseconds())
		return nil
	})
	copies, err := wait.Int()
	if uncertain(err) {
		return nil, 0, err
	}
	return answer, copies, nil
}

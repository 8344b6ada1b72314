package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Replicas says how many replicas must have received an accepted order before its buyer is answered.
type Replicas struct {
	Count   int           // 0: none is asked
	Timeout time.Duration // waits at most so long; less than ClientConfig.Timeout
}

// errUnconfirmed: too few replicas have confirmed in time what Redis did. It is not order.ErrUnavailable, because it
// was done.
var errUnconfirmed = errors.New("redis: too few replicas have confirmed it")

// check refuses replicas where there are none.
func (r Replicas) check(alone bool) error {
	if r.Count > 0 && alone {
		return fmt.Errorf("redis: %d replicas are to confirm, but the Redis of the embedded mode has none", r.Count)
	}
	return nil
}

// confirmation asks the replicas whether they have what precedes it in a pipeline. WAIT covers the writes of its own
// connection only, so both must be sent together. And it covers none when the calls wrote nothing, like a call that
// repeats another whose answer was lost: so confirmation writes a key itself, after them in the one stream that
// replicas receive, and that write cannot be confirmed before theirs.
type confirmation struct {
	wanted       int
	write, count *redis.IntCmd
}

// ask puts the question at the end of the pipeline.
func (r Replicas) ask(ctx context.Context, pipe redis.Pipeliner, key string) confirmation {
	c := confirmation{wanted: r.Count, write: pipe.Incr(ctx, key)}
	c.count = redis.NewIntCmd(ctx, "wait", r.Count, max(r.Timeout.Milliseconds(), 1)) // 0 would wait forever
	// It is queued; a command has its own error.
	_ = pipe.Process(ctx, c.count)
	return c
}

// err returns nil once enough replicas have confirmed.
func (c confirmation) err() error {
	if err := errors.Join(c.write.Err(), c.count.Err()); err != nil {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	if got := c.count.Val(); got < int64(c.wanted) {
		return fmt.Errorf("%w: %d of %d", errUnconfirmed, got, c.wanted)
	}
	return nil
}

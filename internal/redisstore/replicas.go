package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Replicas says how many replicas must have an accepted order before its buyer gets an answer.
type Replicas struct {
	Count   int           // 0: no replica is asked
	Timeout time.Duration // how long to wait for them; less than rediskit.Config.Timeout
}

// errUnconfirmed: too few replicas confirmed a write in time. It does not wrap order.ErrUnavailable, because the master
// has the write.
var errUnconfirmed = errors.New("redis: too few replicas have confirmed it")

// confirmation asks the replicas whether they have the writes of the calls before it in a pipeline. WAIT covers only
// writes of its own connection, so it must be sent together with the calls. It covers nothing if the calls wrote
// nothing, for example when a call repeats one whose answer was lost. So confirmation itself writes a key after the
// calls: replicas receive all writes in one stream, and cannot confirm that write before the earlier ones.
type confirmation struct {
	wanted       int
	write, count *redis.IntCmd
}

// ask adds the question to the end of the pipeline.
func (r Replicas) ask(ctx context.Context, pipe redis.Pipeliner, key string) confirmation {
	c := confirmation{wanted: r.Count, write: pipe.Incr(ctx, key)}
	c.count = redis.NewIntCmd(ctx, "wait", r.Count, max(r.Timeout.Milliseconds(), 1)) // 0 would wait forever
	// This only queues the command, which keeps its own error.
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

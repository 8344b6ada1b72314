// Package idcounter counts the order ids of each day in Redis.
package idcounter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/idworker"
	"seckill/internal/redisstore/rediskit"
)

// counterTTL is how long a day's counter is kept: until the day is over by any clock, even a wrong one.
const counterTTL = 3 * 24 * time.Hour

// The answers of scripts/reserve_ids.lua that are not numbers.
const (
	counterMissing   = -1
	counterExhausted = -2
)

// Counter counts the order ids of each day: idworker.Counter.
type Counter struct {
	client  redis.UniversalClient
	prefix  string // of the keys
	reserve rediskit.Script
}

// New returns the counter whose keys begin with prefix, which has no braces. It makes no call.
func New(client redis.UniversalClient, prefix string) (*Counter, error) {
	if err := rediskit.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	return &Counter{client: client, prefix: prefix, reserve: rediskit.NewScript("reserve_ids")}, nil
}

// Reserve implements idworker.Counter. Its other errors are Redis's.
func (c *Counter) Reserve(ctx context.Context, r idworker.Reservation) (int64, error) {
	random := rand.Int64N(1 << 31) //nolint:gosec // must only differ from call to call; protects nothing
	last, err := c.reserve.RunInt(ctx, c.client,
		[]string{c.key(r.Day), c.serverKey(r.Day)},
		r.N, r.Known, r.Create, random, int64(counterTTL/time.Second))
	switch {
	case err != nil:
		return 0, err
	case last == counterMissing:
		return 0, idworker.ErrCounterMissing
	case last == counterExhausted:
		return 0, idworker.ErrExhausted
	case last < r.N:
		return 0, fmt.Errorf("reserve_ids.lua returned %d for %d numbers", last, r.N)
	}
	return last, nil
}

// key returns the key of a day's order id counter (string: the last number given out). It is in no partition.
func (c *Counter) key(day string) string { return c.prefix + "icr:order:" + day }

// serverKey returns the key of the server that last counted a day's ids (string: its run id), in the slot of the day's
// counter.
func (c *Counter) serverKey(day string) string { return c.prefix + "icr:server:{" + c.key(day) + "}" }

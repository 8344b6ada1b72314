package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"seckill/scripts"
)

const (
	rawConnections = 8
	rawPipeline    = 128 // buyers on their way in one write, whether one call each or all in one
)

// rawScript measures the limit of the admission side: the service's own script on a sale that the service has opened,
// called as fast as Redis answers, with so many buyers in each call, and nothing else.
func rawScript(buyers int64) func(context.Context, *round, *place) (turn, error) {
	return func(ctx context.Context, r *round, at *place) (turn, error) {
		to, err := service{r.bin}.start(ctx, at, unlimited)
		if err != nil {
			return turn{}, err
		}
		if err = to.stop(); err != nil { // the sale stays in Redis; nobody records
			return turn{}, err
		}
		keys := []string{
			fmt.Sprintf("%s{p0}:sale:%d", at.prefix, to.voucher), fmt.Sprintf("%s{p0}:buyers:%d", at.prefix, to.voucher), at.prefix + "{p0}:orders",
		}
		rdb := redis.NewClient(&redis.Options{Addr: at.stores.redisAddr, PoolSize: rawConnections, MaxRetries: -1})
		defer func() { _ = rdb.Close() }() // nothing is in flight any more
		var group errgroup.Group
		var accepted [rawConnections]int64
		parties := at.stores.processes(ctx, nil)
		cpu, began := parties.read(), time.Now()
		for c := range int64(rawConnections) {
			group.Go(func() (err error) {
				const each = 1_000_000_000 // users of one connection
				for err == nil && time.Since(began) < r.plan.duration/2 {
					err = admitRaw(ctx, rdb, keys, to.voucher, 1+c*each+accepted[c], buyers)
					accepted[c] += rawPipeline
				}
				return err
			})
		}
		if err = group.Wait(); err != nil {
			return turn{}, err
		}
		passed := time.Since(began)
		var all int64
		for _, n := range accepted {
			all += n
		}
		t := turn{Rate: float64(all) / passed.Seconds(), Cost: parties.since(cpu, all)}
		return t, auditRawScript(ctx, at, to.voucher, all)
	}
}

// admitRaw admits the next users in one write: calls with so many buyers each.
func admitRaw(ctx context.Context, rdb *redis.Client, keys []string, voucher, first, buyers int64) error {
	script := redis.NewScript(scripts.Seckill)
	pipe := rdb.Pipeline()
	for user := first; user < first+rawPipeline; user += buyers {
		args := []any{voucher, 0, 0, 1_000_000_000}
		for i := range buyers {
			args = append(args, user+i, (user+i)<<20) // a number as long as an order id
		}
		script.EvalSha(ctx, pipe, keys, args...)
	}
	answers, err := pipe.Exec(ctx)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = script.Load(ctx, rdb).Err(); err == nil {
			return admitRaw(ctx, rdb, keys, voucher, first, buyers)
		}
	}
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	for _, a := range answers {
		if answer, ok := a.(*redis.Cmd); !ok || len(answer.Val().([]any)) < 9 {
			return errors.New("the script answers something else")
		}
	}
	return nil
}

package measures

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/result"
	"seckill/lab/rig"
	"seckill/scripts"
)

const (
	rawConnections = 8
	rawPipeline    = 128 // buyers sent in one write, whether in one call each or all in one
)

// rawScript measures the limit of admission: the service's own script on a sale that the service has opened, called as
// fast as Redis answers, with that many buyers per call.
func rawScript(buyers int64) measurement {
	return func(ctx context.Context, r *round, at *rig.Namespace) (t result.Trial, err error) {
		server, err := r.service().Start(ctx, at, rig.Unlimited)
		if err != nil {
			return t, err
		}
		if err = server.Stop(); err != nil { // the sale stays in Redis, and nothing is recorded
			return t, err
		}
		keys := []string{
			at.Prefix + "{p0}:orders",
			fmt.Sprintf("%s{p0}:sale:%d", at.Prefix, server.Voucher), fmt.Sprintf("%s{p0}:buyers:%d",
				at.Prefix, server.Voucher),
		}
		rdb := redis.NewClient(&redis.Options{Addr: r.stores.RedisAddr, PoolSize: rawConnections, MaxRetries: -1})
		defer func() { _ = rdb.Close() }() // nothing is in flight any more
		var group errgroup.Group
		var accepted [rawConnections]int64
		processes := r.stores.Processes(ctx, nil)
		before, began := processes.Time(), time.Now()
		for c := range int64(rawConnections) {
			group.Go(func() (err error) {
				const each = 1_000_000_000 // users of one connection
				for err == nil && time.Since(began) < r.plan.Duration/2 {
					err = admitRaw(ctx, rdb, keys, server.Voucher, 1+c*each+accepted[c], buyers)
					accepted[c] += rawPipeline
				}
				return err
			})
		}
		if err = group.Wait(); err != nil {
			return t, err
		}
		passed := time.Since(began)
		var all int64
		for _, n := range accepted {
			all += n
		}
		t.Figures = map[result.Name]float64{result.Rate: float64(all) / passed.Seconds()}
		addTime(t.Figures, processes.Since(before), all)
		return t, audit.RawScript(ctx, at, server, all)
	}
}

// admitRaw admits the next users in one write of calls with that many buyers each.
func admitRaw(ctx context.Context, rdb *redis.Client, keys []string, voucher, first, buyers int64) error {
	script := redis.NewScript(scripts.Source("seckill"))
	pipe := rdb.Pipeline()
	for user := first; user < first+rawPipeline; user += buyers {
		args := []any{voucher, 0, 0, 1_000_000_000, buyers, ""}
		for i := range buyers {
			args = append(args, user+i, (user+i)<<20) // as many digits as an order id
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
		sales, err := a.(*redis.Cmd).Slice()
		if err != nil || len(sales) != 1 {
			return fmt.Errorf("unexpected answer %v of the script: %w", sales, err)
		}
		if answer, ok := sales[0].([]any); !ok || len(answer) < 9 {
			return fmt.Errorf("unexpected answer %v of the script", sales[0])
		}
	}
	return nil
}

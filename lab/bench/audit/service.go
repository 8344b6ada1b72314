package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"seckill/lab/rig"
)

// Service audits this service: every sale has recorded everything.
func Service(ctx context.Context, at *rig.Namespace, _ *rig.Server, accepted int64) error {
	waiting, err := at.WaitingOrders(ctx, "{p0}:orders")
	if err != nil {
		return err
	}
	dead, err := at.StreamLength(ctx, "{p0}:dead")
	if err != nil {
		return err
	}
	failed, err := at.Number(ctx, "SELECT COUNT(*) FROM tb_voucher_order WHERE status <> 1")
	if err != nil {
		return err
	}
	return errors.Join(compareSales(ctx, at), balance(ctx, at, counts{
		accepted: accepted, waiting: waiting,
		also: map[string][2]int64{
			"nothing waits": {waiting, 0}, "no dead letters": {dead, 0}, "no failed orders": {failed, 0},
		},
	}))
}

// compareSales returns the sales whose stock or number of buyers differ between Redis and SQL.
func compareSales(ctx context.Context, at *rig.Namespace) error {
	rows, err := at.DB.QueryContext(ctx, "SELECT voucher_id, stock, issued FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // read to the end, or abandoned
	pipe := at.Stores.Redis.Pipeline()
	var want [][3]int64
	for rows.Next() {
		var sale [3]int64
		if err = rows.Scan(&sale[0], &sale[1], &sale[2]); err != nil {
			return err
		}
		want = append(want, sale)
		pipe.HMGet(ctx, fmt.Sprintf("%s{p0}:sale:%d", at.Prefix, sale[0]), "stock", "returned")
		pipe.HLen(ctx, fmt.Sprintf("%s{p0}:buyers:%d", at.Prefix, sale[0]))
	}
	if err = rows.Err(); err != nil {
		return err
	}
	answers, err := pipe.Exec(ctx)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	for i, sale := range want {
		var left struct {
			Stock    int64 `redis:"stock"`
			Returned int64 `redis:"returned"`
		}
		if serr := answers[2*i].(*redis.SliceCmd).Scan(&left); serr != nil {
			return fmt.Errorf("redis: %w", serr)
		}
		buyers := answers[2*i+1].(*redis.IntCmd).Val()
		err = errors.Join(err, Equal(map[string][2]int64{
			fmt.Sprintf("sale %d, stock in Redis is that in SQL", sale[0]):      {left.Stock + left.Returned, sale[1]},
			fmt.Sprintf("sale %d, buyers in Redis are the units sold", sale[0]): {buyers, sale[2] - sale[1]},
		}))
	}
	return err
}

// RawScript audits the service's script alone: each admitted order has left the stock, has a holder, and is in the
// stream.
func RawScript(ctx context.Context, at *rig.Namespace, server *rig.Server, accepted int64) error {
	left, err := at.HashNumber(ctx, fmt.Sprintf("{p0}:sale:%d", server.Voucher), "stock")
	if err != nil {
		return err
	}
	buyers, err := at.Stores.Redis.HLen(ctx, fmt.Sprintf("%s{p0}:buyers:%d", at.Prefix, server.Voucher)).Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	waiting, err := at.WaitingOrders(ctx, "{p0}:orders")
	if err != nil {
		return err
	}
	return Equal(map[string][2]int64{
		"stock in Redis and accepted are the units issued": {left + accepted, rig.Unlimited},
		"buyers are the accepted":                          {buyers, accepted},
		"waiting orders are the accepted":                  {waiting, accepted},
	})
}

// Expired audits a service whose orders have expired: stock and live orders add up, and there is one operation per
// expired order.
func Expired(ctx context.Context, at *rig.Namespace) error {
	var numbers [4]int64
	for i, query := range []string{
		"SELECT SUM(issued - stock) FROM tb_seckill_voucher",
		"SELECT COUNT(*) FROM tb_voucher_order WHERE status = 1",
		"SELECT COUNT(*) FROM tb_voucher_order WHERE status = 4",
		"SELECT COUNT(*) FROM tb_voucher_operation",
	} {
		var err error
		if numbers[i], err = at.Number(ctx, query); err != nil {
			return err
		}
	}
	return Equal(map[string][2]int64{
		"units sold are the live orders":             {numbers[0], numbers[1]},
		"each expired order has given its unit back": {numbers[2], numbers[3]},
	})
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// auditService wants everything recorded, in every sale: this one has caught up.
func auditService(ctx context.Context, at *place, _ *target, accepted int64) error {
	rdb := at.stores.rdb
	waiting, err := rdb.XLen(ctx, at.prefix+"{p0}:orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	dead, err := rdb.XLen(ctx, at.prefix+"{p0}:dead").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	failed, err := at.number(ctx, "SELECT COUNT(*) FROM tb_voucher_order WHERE status <> 1")
	if err != nil {
		return err
	}
	return errors.Join(at.compareSales(ctx), balance(ctx, at, books{
		accepted: accepted, waiting: waiting,
		also: map[string][2]int64{
			"nothing waits": {waiting, 0}, "no dead letters": {dead, 0}, "no failed orders": {failed, 0},
		},
	}))
}

// compareSales says of which sales stock or number of buyers differ between Redis and SQL.
func (p *place) compareSales(ctx context.Context) error {
	rows, err := p.db.QueryContext(ctx, "SELECT voucher_id, stock, issued FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // read to its end, or given up
	pipe := p.stores.rdb.Pipeline()
	var want [][3]int64
	for rows.Next() {
		var sale [3]int64
		if err = rows.Scan(&sale[0], &sale[1], &sale[2]); err != nil {
			return err
		}
		want = append(want, sale)
		pipe.HMGet(ctx, fmt.Sprintf("%s{p0}:sale:%d", p.prefix, sale[0]), "stock", "returned")
		pipe.HLen(ctx, fmt.Sprintf("%s{p0}:buyers:%d", p.prefix, sale[0]))
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
		err = errors.Join(err, unequal(map[string][2]int64{
			fmt.Sprintf("sale %d, stock in Redis is that in SQL", sale[0]):      {left.Stock + left.Returned, sale[1]},
			fmt.Sprintf("sale %d, buyers in Redis are the units sold", sale[0]): {buyers, sale[2] - sale[1]},
		}))
	}
	return err
}

// auditRawScript: what the script admitted is what left the stock, took a place and lies in the stream.
func auditRawScript(ctx context.Context, at *place, voucher, accepted int64) error {
	left, err := at.hashNumber(ctx, fmt.Sprintf("{p0}:sale:%d", voucher), "stock")
	if err != nil {
		return err
	}
	buyers, err := at.stores.rdb.HLen(ctx, fmt.Sprintf("%s{p0}:buyers:%d", at.prefix, voucher)).Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	waiting, err := at.stores.rdb.XLen(ctx, at.prefix+"{p0}:orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return unequal(map[string][2]int64{
		"stock in Redis and accepted are the units issued": {left + accepted, unlimited},
		"buyers are the accepted":                          {buyers, accepted},
		"waiting orders are the accepted":                  {waiting, accepted},
	})
}

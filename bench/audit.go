package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// books are what a turn left behind, besides the rows.
type books struct {
	accepted   int64 // answers that accepted, as the load generator counted them
	redisStock int64
	waiting    int64 // accepted and not recorded
	also       map[string][2]int64
}

// balance compares everything that has to be equal and returns all that is not.
func balance(ctx context.Context, at *place, b books) error {
	rows, err := at.number(ctx, "SELECT COUNT(*) FROM tb_voucher_order")
	if err != nil {
		return err
	}
	users, err := at.number(ctx, "SELECT COUNT(DISTINCT user_id) FROM tb_voucher_order")
	if err != nil {
		return err
	}
	stock, err := at.number(ctx, "SELECT stock FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	equal := map[string][2]int64{
		"rows and waiting orders are the accepted":      {rows + b.waiting, b.accepted},
		"every row is another user's":                   {users, rows},
		"stock and rows in SQL are the units issued":    {stock + rows, issued},
		"stock in Redis and accepted are the units too": {b.redisStock + b.accepted, issued},
	}
	maps.Copy(equal, b.also)
	for what, pair := range equal {
		if pair[0] != pair[1] {
			err = errors.Join(err, fmt.Errorf("the books do not balance: %s: %d is not %d", what, pair[0], pair[1]))
		}
	}
	return err
}

// audit counts what it had no time to record: everything in the stream that was not acknowledged.
func (tutorial) audit(ctx context.Context, at *place, accepted int64) error {
	rdb := at.stores.rdb
	left, err := rdb.Get(ctx, at.prefix+"seckill:stock:1").Int64()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	entries, err := rdb.XLen(ctx, at.prefix+"stream.orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	groups, err := rdb.XInfoGroups(ctx, at.prefix+"stream.orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if len(groups) != 1 {
		return fmt.Errorf("the stream has %d groups, not 1", len(groups))
	}
	return balance(ctx, at, books{
		accepted: accepted, redisStock: left, waiting: groups[0].Pending + groups[0].Lag,
		also: map[string][2]int64{"stream entries are the accepted": {entries, accepted}},
	})
}

// audit wants everything recorded: this one has caught up.
func (service) audit(ctx context.Context, at *place, accepted int64) error {
	voucher, err := at.number(ctx, "SELECT voucher_id FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	sale := fmt.Sprintf("{p0}:sale:%d", voucher)
	left, err := at.hashNumber(ctx, sale, "stock")
	if err != nil {
		return err
	}
	returned, err := at.hashNumber(ctx, sale, "returned")
	if err != nil {
		return err
	}
	waiting, err := at.stores.rdb.XLen(ctx, at.prefix+"{p0}:orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	dead, err := at.stores.rdb.XLen(ctx, at.prefix+"{p0}:dead").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	failed, err := at.number(ctx, "SELECT COUNT(*) FROM tb_voucher_order WHERE status <> 1")
	if err != nil {
		return err
	}
	return balance(ctx, at, books{
		accepted: accepted, redisStock: left + returned, waiting: waiting,
		also: map[string][2]int64{"nothing waits": {waiting, 0}, "no dead letters": {dead, 0}, "no failed orders": {failed, 0}},
	})
}

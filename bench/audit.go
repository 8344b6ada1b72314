package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// books are what a turn left behind, besides the rows.
type books struct {
	accepted int64 // answers that accepted, as the load generator counted them
	waiting  int64 // accepted and not recorded
	also     map[string][2]int64
}

// balance compares everything that has to be equal and returns all that is not.
func balance(ctx context.Context, at *place, b books) error {
	rows, err := at.number(ctx, "SELECT COUNT(*) FROM tb_voucher_order")
	if err != nil {
		return err
	}
	users, err := at.number(ctx, "SELECT COUNT(DISTINCT user_id, voucher_id) FROM tb_voucher_order")
	if err != nil {
		return err
	}
	stock, err := at.number(ctx, "SELECT SUM(stock) FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	issued, err := at.number(ctx, "SELECT SUM(issued) FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	equal := map[string][2]int64{
		"rows and waiting orders are the accepted":   {rows + b.waiting, b.accepted},
		"every row is another user's":                {users, rows},
		"stock and rows in SQL are the units issued": {stock + rows, issued},
	}
	maps.Copy(equal, b.also)
	return unequal(equal)
}

// unequal says which pairs differ.
func unequal(equal map[string][2]int64) (err error) {
	for what, pair := range equal {
		if pair[0] != pair[1] {
			err = errors.Join(err, fmt.Errorf("the books do not balance: %s: %d is not %d", what, pair[0], pair[1]))
		}
	}
	return err
}

// auditDatabase: the answer came after the row.
func auditDatabase(ctx context.Context, at *place, _ *target, accepted int64) error {
	return balance(ctx, at, books{accepted: accepted})
}

// auditMemory believes what the process said of itself at its end: its queue was there.
func auditMemory(ctx context.Context, at *place, to *target, accepted int64) error {
	_, rest, _ := strings.Cut(to.log.String(), "left behind: ")
	text, _, _ := strings.Cut(rest, "\n")
	left, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("it does not say how many orders it left behind: %w", err)
	}
	return auditQueue(ctx, at, books{accepted: accepted, waiting: left})
}

// auditList counts what the writer had no time to record.
func auditList(ctx context.Context, at *place, _ *target, accepted int64) error {
	waiting, err := at.stores.rdb.LLen(ctx, at.prefix+"list.orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return auditQueue(ctx, at, books{accepted: accepted, waiting: waiting})
}

// auditPubsub has nothing to count: what is not recorded is nowhere.
func auditPubsub(ctx context.Context, at *place, _ *target, accepted int64) error {
	recorded, err := at.recorded(ctx)
	if err != nil {
		return err
	}
	return auditQueue(ctx, at, books{accepted: accepted, waiting: accepted - recorded})
}

// auditStream counts everything in the stream that was not acknowledged.
func auditStream(ctx context.Context, at *place, _ *target, accepted int64) error {
	entries, err := at.stores.rdb.XLen(ctx, at.prefix+"stream.orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	groups, err := at.stores.rdb.XInfoGroups(ctx, at.prefix+"stream.orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if len(groups) != 1 {
		return fmt.Errorf("the stream has %d groups, not 1", len(groups))
	}
	return auditQueue(ctx, at, books{
		accepted: accepted, waiting: groups[0].Pending + groups[0].Lag,
		also: map[string][2]int64{"stream entries are the accepted": {entries, accepted}},
	})
}

// auditQueue also looks at the stock and the buyers that the script of the stages keeps in Redis.
func auditQueue(ctx context.Context, at *place, b books) error {
	left, err := at.stores.rdb.Get(ctx, at.prefix+"seckill:stock:1").Int64()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	buyers, err := at.stores.rdb.SCard(ctx, at.prefix+"seckill:order:1").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	equal := map[string][2]int64{
		"stock in Redis and accepted are the units issued": {left + b.accepted, unlimited},
		"buyers in Redis are the accepted":                 {buyers, b.accepted},
	}
	maps.Copy(equal, b.also)
	b.also = equal
	return balance(ctx, at, b)
}

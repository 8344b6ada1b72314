package audit

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"seckill/lab/rig"
)

// Database audits designs that answer only after the row is committed.
func Database(ctx context.Context, at *rig.Namespace, _ *rig.Server, accepted int64) error {
	return balance(ctx, at, counts{accepted: accepted})
}

// Memory audits the queue in memory, with the help of the process's last log line: nothing else knew the queue.
func Memory(ctx context.Context, at *rig.Namespace, server *rig.Server, accepted int64) error {
	_, rest, _ := strings.Cut(server.Log(), "left behind: ")
	text, _, _ := strings.Cut(rest, "\n")
	left, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("the log does not say how many orders the process left behind: %w", err)
	}
	return queue(ctx, at, counts{accepted: accepted, waiting: left})
}

// List audits the list, and counts the orders that the writer had no time to record.
func List(ctx context.Context, at *rig.Namespace, _ *rig.Server, accepted int64) error {
	waiting, err := at.Stores.Redis.LLen(ctx, at.Prefix+"list.orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return queue(ctx, at, counts{accepted: accepted, waiting: waiting})
}

// Pubsub audits pub/sub, which has no queue to count: an order that is not recorded is lost.
func Pubsub(ctx context.Context, at *rig.Namespace, _ *rig.Server, accepted int64) error {
	recorded, err := at.Recorded(ctx)
	if err != nil {
		return err
	}
	return queue(ctx, at, counts{accepted: accepted, waiting: accepted - recorded})
}

// Stream audits the tutorials' stream, and counts all entries that are not acknowledged.
func Stream(ctx context.Context, at *rig.Namespace, _ *rig.Server, accepted int64) error {
	entries, err := at.StreamLength(ctx, "stream.orders")
	if err != nil {
		return err
	}
	groups, err := at.Stores.Redis.XInfoGroups(ctx, at.Prefix+"stream.orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if len(groups) != 1 {
		return fmt.Errorf("the stream has %d groups, not 1", len(groups))
	}
	return queue(ctx, at, counts{
		accepted: accepted, waiting: groups[0].Pending + groups[0].Lag,
		also: map[string][2]int64{"stream entries are the accepted": {entries, accepted}},
	})
}

// queue also compares the stock and the buyers that the designs with a queue keep in Redis.
func queue(ctx context.Context, at *rig.Namespace, c counts) error {
	left, err := at.Stores.Redis.Get(ctx, at.Prefix+"seckill:stock:1").Int64()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	buyers, err := at.Stores.Redis.SCard(ctx, at.Prefix+"seckill:order:1").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	pairs := map[string][2]int64{
		"stock in Redis and accepted are the units issued": {left + c.accepted, rig.Unlimited},
		"buyers in Redis are the accepted":                 {buyers, c.accepted},
	}
	maps.Copy(pairs, c.also)
	c.also = pairs
	return balance(ctx, at, c)
}

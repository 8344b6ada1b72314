package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"seckill/lab/bench/result"
	"seckill/lab/rig"
)

// Queue is where a design keeps accepted orders until they are recorded.
type Queue string

// The queues that outlive their process, and one for designs without such a queue.
const (
	NoQueue      Queue = ""
	ListQueue    Queue = "list"
	PubsubQueue  Queue = "pubsub" // keeps nothing
	StreamQueue  Queue = "stream"
	ServiceQueue Queue = "service"
)

// Find looks for the orders of accepted users, in the table and in the queue.
func Find(ctx context.Context, at *rig.Namespace, accepted []int64, in Queue) (result.Crash, error) {
	queued, err := queuedUsers(ctx, at, in)
	if err != nil {
		return result.Crash{}, err
	}
	recorded, err := recordedUsers(ctx, at)
	if err != nil {
		return result.Crash{}, err
	}
	return classify(accepted, recorded, queued), nil
}

// classify counts accepted users by where their orders are; an order in the table counts there.
func classify(accepted, recorded, queued []int64) (c result.Crash) {
	const inQueue, inTable = 1, 2
	found := make(map[int64]int, len(recorded)+len(queued))
	for _, user := range queued {
		found[user] = inQueue
	}
	for _, user := range recorded {
		found[user] = inTable
	}
	c.Accepted = int64(len(accepted))
	for _, user := range accepted {
		switch found[user] {
		case inTable:
			c.Recorded++
		case inQueue:
			c.Queued++
		default:
			c.Lost++
		}
	}
	return c
}

// recordedUsers returns the users who have an order in the table.
func recordedUsers(ctx context.Context, at *rig.Namespace) ([]int64, error) {
	rows, err := at.DB.QueryContext(ctx, "SELECT user_id FROM tb_voucher_order")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // read to the end, or abandoned
	var all []int64
	for rows.Next() {
		var user int64
		if err = rows.Scan(&user); err != nil {
			return nil, err
		}
		all = append(all, user)
	}
	return all, rows.Err()
}

// queuedUsers returns the users whose orders are in a queue in Redis. For a stream that is never trimmed it returns
// all.
func queuedUsers(ctx context.Context, at *rig.Namespace, in Queue) ([]int64, error) {
	var users []string
	var err error
	switch in {
	case ListQueue:
		users, err = at.Stores.Redis.LRange(ctx, at.Prefix+"list.orders", 0, -1).Result()
		for i, text := range users {
			users[i] = strings.Fields(text)[1] // order, user, voucher
		}
	case StreamQueue:
		users, err = streamed(ctx, at, "stream.orders", "userId")
	case ServiceQueue:
		users, err = acceptedUsers(ctx, at)
	case NoQueue, PubsubQueue:
	}
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	all := make([]int64, len(users))
	for i, text := range users {
		if all[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// acceptedUsers returns the users whose orders wait in the service's stream. An entry has one order or several. The
// stream is read once: Redis may still be doing what a killed process sent it, and two reads would not match.
func acceptedUsers(ctx context.Context, at *rig.Namespace) (users []string, err error) {
	entries, err := at.Stores.Redis.XRange(ctx, at.Prefix+"{p0}:orders", "-", "+").Result()
	for _, e := range entries {
		if user, single := e.Values["u"].(string); single {
			users = append(users, user)
		}
		packed, _ := e.Values["p"].(string)
		for n, word := range strings.Fields(packed) {
			if n%2 == 0 { // user, order, user, order…
				users = append(users, word)
			}
		}
	}
	return users, err
}

// Waiting returns how many orders wait in the service's stream.
func Waiting(ctx context.Context, at *rig.Namespace) (int64, error) {
	users, err := acceptedUsers(ctx, at)
	return int64(len(users)), err
}

// streamed returns one field of all entries of a stream.
func streamed(ctx context.Context, at *rig.Namespace, key, field string) ([]string, error) {
	entries, err := at.Stores.Redis.XRange(ctx, at.Prefix+key, "-", "+").Result()
	values := make([]string, len(entries))
	for i, e := range entries {
		values[i], _ = e.Values[field].(string)
	}
	return values, err
}

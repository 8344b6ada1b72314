package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// users are those who have an order in the table.
func (p *place) users(ctx context.Context) ([]int64, error) {
	rows, err := p.db.QueryContext(ctx, "SELECT user_id FROM tb_voucher_order")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // read to its end, or given up
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

// queued are the users whose orders lie in a queue in Redis. Of a stream that is never shortened all are listed.
func (p *place) queued(ctx context.Context, kind string) ([]int64, error) {
	var users []string
	var err error
	switch kind {
	case "list":
		users, err = p.stores.rdb.LRange(ctx, p.prefix+"list.orders", 0, -1).Result()
		for i, text := range users {
			users[i] = strings.Fields(text)[1] // order, user, voucher
		}
	case "stream":
		users, err = p.streamed(ctx, "stream.orders", "userId")
	case "service":
		users, err = p.streamed(ctx, "{p0}:orders", "u")
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

// streamed returns a field of all entries of a stream.
func (p *place) streamed(ctx context.Context, key, field string) ([]string, error) {
	entries, err := p.stores.rdb.XRange(ctx, p.prefix+key, "-", "+").Result()
	values := make([]string, len(entries))
	for i, e := range entries {
		values[i], _ = e.Values[field].(string)
	}
	return values, err
}

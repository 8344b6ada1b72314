package test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// liveStore is the service's Redis as the tests read it. The key names are written out here once more, on purpose: the
// layout is a promise to operators and to running instances of other versions, and this is its witness.
type liveStore struct {
	rdb    *redis.Client
	prefix string
}

func (l *liveStore) saleKey(voucher int64) string {
	return fmt.Sprintf("%s{p0}:sale:%d", l.prefix, voucher)
}

func (l *liveStore) buyersKey(voucher int64) string {
	return fmt.Sprintf("%s{p0}:buyers:%d", l.prefix, voucher)
}
func (l *liveStore) streamKey() string { return l.prefix + "{p0}:orders" }
func (l *liveStore) deadKey() string   { return l.prefix + "{p0}:dead" }

// group is the recorders' group of consumers.
const group = "recorder"

// liveView is what Redis holds of a sale.
type liveView struct {
	stock   int64           // units left to sell, returned ones included
	waiting int64           // entries of the stream, of whatever sale
	dead    int64           // dead letters
	buyers  map[int64]int64 // user → order
}

// view reads a sale. At a quiescent point, which is when the checker asks, its parts belong together.
func (l *liveStore) view(ctx context.Context, voucher int64) (liveView, error) {
	v := liveView{buyers: map[int64]int64{}}
	stock, err := l.rdb.HMGet(ctx, l.saleKey(voucher), "stock", "returned").Result()
	if err != nil {
		return v, fmt.Errorf("reading the sale: %w", err)
	}
	if stock[0] == nil {
		return v, fmt.Errorf("redis does not hold sale %d", voucher)
	}
	for _, part := range stock {
		if text, ok := part.(string); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return v, fmt.Errorf("stock of sale %d: %w", voucher, err)
			}
			v.stock += n
		}
	}
	buyers, err := l.rdb.HGetAll(ctx, l.buyersKey(voucher)).Result()
	if err != nil {
		return v, fmt.Errorf("reading the buyers: %w", err)
	}
	for user, order := range buyers {
		u, err1 := strconv.ParseInt(user, 10, 64)
		o, err2 := strconv.ParseInt(order, 10, 64)
		if err1 != nil || err2 != nil {
			return v, fmt.Errorf("buyer %q has order %q", user, order)
		}
		v.buyers[u] = o
	}
	if v.waiting, err = l.rdb.XLen(ctx, l.streamKey()).Result(); err != nil {
		return v, fmt.Errorf("reading the stream: %w", err)
	}
	if v.dead, err = l.rdb.XLen(ctx, l.deadKey()).Result(); err != nil {
		return v, fmt.Errorf("reading the dead letters: %w", err)
	}
	return v, nil
}

// queue returns how many entries the stream has, and how many are delivered and not acknowledged, of whatever sale.
func (l *liveStore) queue(ctx context.Context) (waiting, pending int64, err error) {
	if waiting, err = l.rdb.XLen(ctx, l.streamKey()).Result(); err != nil {
		return 0, 0, fmt.Errorf("reading the stream: %w", err)
	}
	p, err := l.rdb.XPending(ctx, l.streamKey(), group).Result()
	if err != nil {
		return 0, 0, fmt.Errorf("reading what is pending: %w", err)
	}
	return waiting, p.Count, nil
}

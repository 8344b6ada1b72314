package box

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
)

// Redis reads the service's Redis. The key names are repeated here deliberately: operators and instances of other
// versions rely on them, so a change must break these tests.
type Redis struct {
	redis.UniversalClient
	// Partition is the partition whose stream and sales are read.
	Partition int
	prefix    string
}

// NewRedis returns a reader of the Redis of servers with the key prefix.
func NewRedis(client redis.UniversalClient, prefix string) *Redis {
	return &Redis{UniversalClient: client, prefix: prefix}
}

// SaleKey returns the key of a sale's hash.
func (r *Redis) SaleKey(voucher int64) string { return r.key("sale", voucher) }

// BuyersKey returns the key of a sale's holders.
func (r *Redis) BuyersKey(voucher int64) string { return r.key("buyers", voucher) }

// StreamKey returns the key of the stream of accepted orders.
func (r *Redis) StreamKey() string { return r.partition() + ":orders" }
func (r *Redis) DeadKey() string   { return r.partition() + ":dead" }

func (r *Redis) partition() string { return fmt.Sprintf("%s{p%d}", r.prefix, r.Partition) }

// RecorderGroup is the recorders' consumer group.
const RecorderGroup = "recorder"

// Sale reads a sale in the partition, in several calls: its parts fit together only while nothing is under way.
func (r *Redis) Sale(ctx context.Context, voucher int64) (checker.Redis, error) {
	v := checker.Redis{Holders: map[int64]int64{}, Units: map[int64]int64{}}
	if err := r.addSale(ctx, &v, r.SaleKey(voucher), r.BuyersKey(voucher)); err != nil {
		return v, fmt.Errorf("sale %d: %w", voucher, err)
	}
	err := r.addStream(ctx, &v)
	return v, err
}

// In returns a reader of the partition.
func (r *Redis) In(partition int) *Redis {
	at := *r
	at.Partition = partition
	return &at
}

// addSale adds the sale's numbers and its holders.
func (r *Redis) addSale(ctx context.Context, v *checker.Redis, sale, buyers string) error {
	stock, err := r.HMGet(ctx, sale, "stock", "returned").Result()
	if err != nil {
		return fmt.Errorf("reading %s: %w", sale, err)
	}
	if stock[0] == nil {
		return fmt.Errorf("redis does not hold %s", sale)
	}
	for _, part := range stock {
		if text, ok := part.(string); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return fmt.Errorf("stock of %s: %w", sale, err)
			}
			v.Stock += n
		}
	}
	holders, err := r.HGetAll(ctx, buyers).Result()
	if err != nil {
		return fmt.Errorf("reading %s: %w", buyers, err)
	}
	for user, order := range holders {
		if err := addHolder(v, user, order); err != nil {
			return fmt.Errorf("%s: %w", buyers, err)
		}
	}
	return nil
}

// key returns a key of a sale.
func (r *Redis) key(kind string, voucher int64) string {
	return fmt.Sprintf("%s:%s:%d", r.partition(), kind, voucher)
}

func addHolder(v *checker.Redis, user, order string) error {
	u, err1 := strconv.ParseInt(user, 10, 64)
	id, units, several := strings.Cut(order, ":")
	o, err2 := strconv.ParseInt(id, 10, 64)
	n, err3 := strconv.ParseInt(units, 10, 64)
	if err1 != nil || err2 != nil || several && err3 != nil {
		return fmt.Errorf("buyer %q has order %q", user, order)
	}
	v.Holders[u] = o
	if several {
		v.Units[u] = n
	}
	return nil
}

// addStream adds the orders that wait in the partition.
func (r *Redis) addStream(ctx context.Context, v *checker.Redis) error {
	waiting, err := r.waiting(ctx)
	if err != nil {
		return err
	}
	dead, err := r.XLen(ctx, r.DeadKey()).Result()
	if err != nil {
		return fmt.Errorf("reading the dead letters: %w", err)
	}
	v.Waiting, v.Dead = v.Waiting+waiting, v.Dead+dead
	return nil
}

// waiting is how many orders the stream has.
func (r *Redis) waiting(ctx context.Context) (orders int64, err error) {
	entries, err := r.XRange(ctx, r.StreamKey(), "-", "+").Result()
	if err != nil {
		return 0, fmt.Errorf("reading the stream: %w", err)
	}
	for _, e := range entries {
		packed, _ := e.Values["p"].(string)
		orders += max(1, int64(len(strings.Fields(packed))/2))
	}
	return orders, nil
}

// Backlog returns how many orders the partition's stream has, of all sales, and how many of its entries are delivered
// but not acknowledged.
func (r *Redis) Backlog(ctx context.Context) (waiting, pending int64, err error) {
	if waiting, err = r.waiting(ctx); err != nil {
		return 0, 0, err
	}
	p, err := r.XPending(ctx, r.StreamKey(), RecorderGroup).Result()
	if err != nil {
		return 0, 0, fmt.Errorf("reading what is pending: %w", err)
	}
	return waiting, p.Count, nil
}

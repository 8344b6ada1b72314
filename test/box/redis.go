package box

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
)

// Redis is the service's Redis as the tests read it. The key names are repeated here on purpose: operators and instances
// of other versions rely on them, so a change must break these tests.
type Redis struct {
	redis.UniversalClient
	// Partition is the one whose stream and sales are read.
	Partition int
	prefix    string
}

// NewRedis returns a reader of the Redis of servers with the key prefix.
func NewRedis(client redis.UniversalClient, prefix string) *Redis {
	return &Redis{UniversalClient: client, prefix: prefix}
}

// SaleKey returns the key of a sale's hash.
func (r *Redis) SaleKey(voucher int64) string { return r.shareKey("sale", voucher, 0) }

// BuyersKey returns the key of a sale's holders.
func (r *Redis) BuyersKey(voucher int64) string { return r.shareKey("buyers", voucher, 0) }

// StreamKey returns the key of the stream of accepted orders.
func (r *Redis) StreamKey() string { return r.partition() + ":orders" }
func (r *Redis) DeadKey() string   { return r.partition() + ":dead" }

func (r *Redis) partition() string { return fmt.Sprintf("%s{p%d}", r.prefix, r.Partition) }

// RecorderGroup is the recorders' consumer group.
const RecorderGroup = "recorder"

// Share is where a share of a sale is: its number, 0 where the sale is not split, and its partition.
type Share struct{ Number, Partition int }

// Sale reads a sale, in several calls: its parts fit together only while nothing is under way. Of a split one it reads the shares and
// adds them up; without any it reads the one sale in the partition.
func (r *Redis) Sale(ctx context.Context, voucher int64, shares ...Share) (checker.Redis, error) {
	v := checker.Redis{Holders: map[int64]int64{}, Units: map[int64]int64{}}
	if len(shares) == 0 {
		shares = []Share{{Partition: r.Partition}}
	}
	for _, share := range shares {
		at := r.In(share.Partition)
		if err := at.addShare(ctx, &v, at.shareKey("sale", voucher, share.Number), at.shareKey("buyers", voucher, share.Number)); err != nil {
			return v, fmt.Errorf("share %d of sale %d: %w", share.Number, voucher, err)
		}
	}
	for _, at := range r.streamsOf(shares) {
		if err := at.addStream(ctx, &v); err != nil {
			return v, err
		}
	}
	return v, nil
}

// In returns a reader of the partition.
func (r *Redis) In(partition int) *Redis {
	at := *r
	at.Partition = partition
	return &at
}

// streamsOf returns a reader of each partition that has a share; r alone where there are no shares.
func (r *Redis) streamsOf(shares []Share) (streams []*Redis) {
	for _, share := range shares {
		if !slices.ContainsFunc(streams, func(at *Redis) bool { return at.Partition == share.Partition }) {
			streams = append(streams, r.In(share.Partition))
		}
	}
	if streams == nil {
		streams = []*Redis{r}
	}
	return streams
}

// shareKey returns a key of a share of a sale. Number 0 is also what a sale has that is not split.
func (r *Redis) shareKey(kind string, voucher int64, number int) string {
	key := fmt.Sprintf("%s:%s:%d", r.partition(), kind, voucher)
	if number > 0 {
		key += fmt.Sprintf(".%d", number)
	}
	return key
}

// addShare adds what the share has and who its holders are.
func (r *Redis) addShare(ctx context.Context, v *checker.Redis, sale, buyers string) error {
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

// Moved returns how many units a share of a split sale has given to others and got from them.
func (r *Redis) Moved(ctx context.Context, voucher int64, share Share) (out, in int64, err error) {
	at := r.In(share.Partition)
	key := at.shareKey("sale", voucher, share.Number)
	moved, err := at.HMGet(ctx, key, "moved_out", "moved_in").Result()
	if err != nil {
		return 0, 0, fmt.Errorf("reading %s: %w", key, err)
	}
	var n [2]int64
	for i, text := range moved {
		if n[i], err = strconv.ParseInt(fmt.Sprint(text), 10, 64); err != nil {
			return 0, 0, fmt.Errorf("what %s has moved: %w", key, err)
		}
	}
	return n[0], n[1], nil
}

func addHolder(v *checker.Redis, user, order string) error {
	u, err1 := strconv.ParseInt(user, 10, 64)
	id, units, several := strings.Cut(order, ":")
	o, err2 := strconv.ParseInt(id, 10, 64)
	n, err3 := strconv.ParseInt(units, 10, 64)
	if err1 != nil || err2 != nil || several && err3 != nil {
		return fmt.Errorf("buyer %q has order %q", user, order)
	}
	if other, twice := v.Holders[u]; twice {
		return fmt.Errorf("user %d is a holder in two shares, with the orders %d and %d", u, other, o)
	}
	v.Holders[u] = o
	if several {
		v.Units[u] = n
	}
	return nil
}

// addStream adds what waits in the partition.
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

// Backlog returns how many orders the stream has, and how many of its entries are delivered and not acknowledged, of all sales; of the
// streams of all shares, where some are given.
func (r *Redis) Backlog(ctx context.Context, shares ...Share) (waiting, pending int64, err error) {
	for _, at := range r.streamsOf(shares) {
		n, err := at.waiting(ctx)
		if err != nil {
			return 0, 0, err
		}
		p, err := r.XPending(ctx, at.StreamKey(), RecorderGroup).Result()
		if err != nil {
			return 0, 0, fmt.Errorf("reading what is pending: %w", err)
		}
		waiting, pending = waiting+n, pending+p.Count
	}
	return waiting, pending, nil
}

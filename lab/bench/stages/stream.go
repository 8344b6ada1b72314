package stages

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	group    = "g1"
	consumer = "c1"
)

// streamQueue is a stream with a consumer group: an order stays until it is acknowledged.
type streamQueue struct{ shop *shop }

func (streamQueue) kind() string  { return "stream" }
func (streamQueue) push(purchase) {} // the script has queued it

// consume first reads the entries that it had read before a crash, then new orders.
func (q streamQueue) consume(ctx context.Context, record func(context.Context, purchase) error) error {
	key := q.shop.queueKey(q.kind())
	if err := q.shop.rdb.XGroupCreateMkStream(ctx, key, group, "0").Err(); err != nil &&
		!strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return err
	}
	from := "0"
	for ctx.Err() == nil {
		streams, err := q.shop.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: group, Consumer: consumer, Streams: []string{key, from}, Count: 1, Block: 200 * time.Millisecond,
		}).Result()
		switch {
		case ctx.Err() != nil || errors.Is(err, redis.Nil):
			continue // the end, or no entry
		case err != nil:
			return fmt.Errorf("reading the stream: %w", err)
		case len(streams) == 0 || len(streams[0].Messages) == 0:
			from = ">" // nothing is pending from before
			continue
		}
		m := streams[0].Messages[0]
		p, err := parsePurchase(fmt.Sprint(m.Values["id"], " ", m.Values["userId"], " ", m.Values["voucherId"]))
		if err == nil {
			err = record(context.WithoutCancel(ctx), p)
		}
		if err == nil {
			err = q.shop.rdb.XAck(context.WithoutCancel(ctx), key, group, m.ID).Err()
		}
		if err != nil {
			return fmt.Errorf("recording %v: %w", m.Values, err)
		}
	}
	return nil
}

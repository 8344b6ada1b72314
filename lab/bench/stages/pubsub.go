package stages

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// pubsubQueue is a channel of Redis. It stores nothing: a message reaches only the subscribers of that moment.
type pubsubQueue struct{ shop *shop }

func (pubsubQueue) kind() string  { return "pubsub" }
func (pubsubQueue) push(purchase) {} // the script has sent it

func (q pubsubQueue) consume(ctx context.Context, record func(context.Context, purchase) error) error {
	sub := q.shop.rdb.Subscribe(ctx, q.shop.queueKey(q.kind()))
	defer func() { _ = sub.Close() }() // messages that it has not received are lost either way
	for ctx.Err() == nil {
		received, err := sub.ReceiveTimeout(ctx, 200*time.Millisecond)
		if timeout := net.Error(nil); ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout() {
			continue // the end, or no message
		}
		if err != nil {
			return fmt.Errorf("receiving: %w", err)
		}
		m, ok := received.(*redis.Message)
		if !ok {
			continue // the subscription is confirmed
		}
		p, err := parsePurchase(m.Payload)
		if err == nil {
			err = record(context.WithoutCancel(ctx), p)
		}
		if err != nil {
			return fmt.Errorf("recording %q: %w", m.Payload, err)
		}
	}
	return nil
}

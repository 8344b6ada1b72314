package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// pubsubQueue is a channel of Redis. It keeps nothing: a message goes to who listens now, or nowhere.
type pubsubQueue struct{ shop *shop }

func (pubsubQueue) kind() string  { return "pubsub" }
func (pubsubQueue) push(purchase) {} // the script has

func (q pubsubQueue) consume(ctx context.Context, record func(context.Context, purchase) error) error {
	sub := q.shop.rdb.Subscribe(ctx, q.shop.queueKey(q.kind()))
	defer func() { _ = sub.Close() }() // what it has not received is lost either way
	for ctx.Err() == nil {
		received, err := sub.ReceiveTimeout(ctx, 200*time.Millisecond)
		if timeout := net.Error(nil); ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout() {
			continue // the end came, or nothing did
		}
		if err != nil {
			return fmt.Errorf("listening: %w", err)
		}
		m, ok := received.(*redis.Message)
		if !ok {
			continue // it says that it listens
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

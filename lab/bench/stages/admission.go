package stages

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

//go:embed admission.lua
var admissionSource string

var admit = redis.NewScript(admissionSource)

// queue holds accepted orders until they are recorded.
type queue interface {
	// kind returns its name in the script, which also ends its key in Redis.
	kind() string
	// push takes an accepted order, if the script has not queued it.
	push(p purchase)
	// consume records one order after the other until ctx ends, and then finishes the order that it has taken.
	consume(ctx context.Context, record func(context.Context, purchase) error) error
}

// admission answers as soon as a script has decided; the order is recorded later.
type admission struct {
	shop  *shop
	queue queue
}

// queueKey is the key of a kind of queue in Redis.
func (s *shop) queueKey(kind string) string { return s.prefix + kind + ".orders" }

// Buy takes an id from Redis, then calls the script: two round trips for every request.
func (a *admission) Buy(ctx context.Context, userID, voucher int64, _ time.Duration) (order.Order, error) {
	id, err := a.shop.nextID(ctx)
	if err != nil {
		return order.Order{}, err
	}
	kind := a.queue.kind()
	code, err := admit.Run(ctx, a.shop.rdb, []string{a.shop.stockKey(), a.shop.buyersKey(), a.shop.queueKey(kind)},
		voucher, userID, id, kind).Int()
	switch {
	case err != nil:
		return order.Order{}, fmt.Errorf("%w: %w", order.ErrUnknownOutcome, err)
	case code == 1:
		return order.Order{}, gate.ErrSoldOut
	case code == 2:
		return order.Order{}, &gate.AlreadyBoughtError{Status: order.StatusUnknown}
	}
	p := purchase{id, userID, voucher}
	a.queue.push(p)
	return p.order(), nil
}

package stages

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/order"
	"seckill/lab/bench/front"
)

const bareStage = "bare"

// build returns the named stage's purchase service, and the queue behind it, if any.
func build(stage string, s *shop) (front.Buyer, queue, error) {
	switch stage {
	case bareStage:
		return &yes{}, nil, nil
	case "check":
		return &database{shop: s, purchase: checkThenAct, lock: noLock}, nil, nil
	case "update":
		return &database{shop: s, purchase: conditionalUpdate, lock: noLock}, nil, nil
	case "userlock":
		return &database{shop: s, purchase: conditionalUpdate, lock: new(processLocks).lock}, nil, nil
	case "redislock":
		return &database{shop: s, purchase: conditionalUpdate, lock: redisLocks{s}.lock}, nil, nil
	}
	if c := newCritical(s, stage); c != nil {
		return c, nil, nil
	}
	var q queue
	switch stage {
	case "memory":
		q = newMemoryQueue()
	case "list":
		q = listQueue{s}
	case "pubsub":
		q = pubsubQueue{s}
	case "stream":
		q = streamQueue{s}
	default:
		return nil, nil, fmt.Errorf("there is no such stage")
	}
	return &admission{shop: s, queue: q}, q, nil
}

// closed refuses every purchase: this process only records.
type closed struct{}

func (closed) Buy(context.Context, int64, int64, time.Duration) (order.Order, error) {
	return order.Order{}, order.ErrUnavailable
}

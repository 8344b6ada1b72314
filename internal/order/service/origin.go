package service

import (
	"time"

	"seckill/internal/order"
	"seckill/internal/order/reason"
)

// origin returns the first events of an order: accepted at the given time and then recorded. A direct sale has only the
// second.
func origin(o order.Order, direct bool, accepted time.Time) []order.Event {
	if direct {
		return []order.Event{{Status: order.Unpaid, At: o.CreatedAt, By: order.Owner}}
	}
	events := []order.Event{{Status: order.Queued, At: accepted, By: order.Owner}}
	switch o.Status {
	case order.Queued, order.StatusUnknown:
		return events
	case order.Failed:
		return append(events, order.Event{
			Status: order.Failed, At: o.FailedAt, By: order.ByRecorder, Why: reason.Why(o.Reason),
		})
	default:
		return append(events, order.Event{Status: order.Unpaid, At: o.CreatedAt, By: order.ByRecorder})
	}
}

package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/order/reason"
)

// A change has the type of the state that the order has come to, unless staff have undone something: it is paid then,
// and nobody has paid.
func TestTypeOfChange(t *testing.T) {
	t.Parallel()
	for action, want := range map[order.Action]dispatch.Type{
		order.Pay: "order.paid", order.Revive: "order.paid", order.Redeem: "order.redeemed",
		order.Extend: dispatch.OrderExtended, order.Reinstate: dispatch.OrderExtended,
		order.Unredeem: dispatch.OrderRestored,
	} {
		until := time.Date(2027, 1, 31, 23, 0, 0, 0, time.UTC)
		e, err := dispatch.EventOf(order.Change{
			Order: order.Order{ID: 5, Status: action.To(), Revision: action.Revisions()}, Action: action,
			Why: reason.ExtendedUntil(until),
		}, nil, "")
		if err != nil || e.Type != want || !strings.Contains(string(e.Body), `"type":"`+string(want)+`"`) ||
			!strings.Contains(string(e.Body), `"until":"2027-01-31T23:00:00.000Z"`) {
			t.Errorf("%s: %+v, %s, %v", action, e, e.Body, err)
		}
	}
}

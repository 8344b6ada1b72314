//go:build !race

package admission

import (
	"testing"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

// Remembering who was accepted allocates nothing once there is room. The test counts for the whole process, and so
// runs by itself.
func TestRecentAcceptsAllocatesNothing(t *testing.T) {
	recent := newRecentAccepts()
	b, v := ordertest.BatchOf(ordertest.VoucherA, 1, 2), ordertest.VerdictOf(2, order.Accepted, order.Accepted)
	if allocs := testing.AllocsPerRun(recentStart/4, func() { recent.write(b, v, false) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

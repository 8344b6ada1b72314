//go:build !race

package admission

import (
	"testing"

	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
)

// Remembering accepted orders allocates nothing while there is room. The test counts allocations of the whole process,
// so it runs alone.
func TestRecentAcceptsAllocatesNothing(t *testing.T) {
	recent := newRecentAccepts()
	b, v := ordertest.BatchOf(ordertest.VoucherA, 1, 2), ordertest.VerdictOf(2, gate.Accepted, gate.Accepted)
	if allocs := testing.AllocsPerRun(recentStart/4, func() { recent.write(&b, &v, 2, false) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

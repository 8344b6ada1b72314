//go:build !race

package admission

import (
	"errors"
	"testing"

	"seckill/internal/order/gate"
)

// Answering from the cache allocates nothing, for any user. The test counts allocations of the whole process, so it
// runs alone.
func TestSoldOutCacheAllocatesNothing(t *testing.T) {
	a := soldOutOf(t, 5000)
	ctx, user := t.Context(), int64(0)
	allocs := testing.AllocsPerRun(1000, func() {
		user += 2
		if err := admitTo(ctx, a, soldOutSale,
			gate.Request{UserID: 2*user + 1, OrderID: 1 << 40}); !errors.Is(err, gate.ErrSoldOut) {
			t.Error(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

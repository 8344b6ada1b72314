//go:build !race

package order

import (
	"errors"
	"testing"
)

// TestMemoryIsFree: answering from memory allocates nothing, whoever asks. It counts for the whole process, and so runs
// alone.
func TestMemoryIsFree(t *testing.T) {
	a := soldOutOf(t, 5000)
	ctx, user := t.Context(), int64(0)
	allocs := testing.AllocsPerRun(1000, func() {
		user += 2
		if err := a.Apply(ctx, soldOutSale, Applicant{UserID: 2*user + 1, OrderID: 1 << 40}); !errors.Is(err, ErrSoldOut) {
			t.Error(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

//go:build !race

package order

import "testing"

// TestDiaryIsFree: noting who was accepted allocates nothing once there is room. It counts for the whole process, and so
// runs alone.
func TestDiaryIsFree(t *testing.T) {
	d := NewDiary()
	b, v := applied(voucherA, 1, 2), said(2, Accepted, Accepted)
	if allocs := testing.AllocsPerRun(diaryStart/4, func() { d.write(b, v, false) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

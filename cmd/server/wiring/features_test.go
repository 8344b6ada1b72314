package wiring

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature"
	"seckill/internal/order/redemption"
)

// Codes are masked unless whole ones are wanted.
func TestShownCoupons(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	found := map[int64]redemption.Coupon{5: {Code: "ABCDEFGHJKMNPQRS", ValidUntil: until}}
	for whole, code := range map[bool]string{false: "····-····-····-PQRS", true: "ABCD-EFGH-JKMN-PQRS"} {
		want := map[int64]feature.Coupon{5: {Code: code, ValidUntil: until}}
		if diff := cmp.Diff(want, shownCoupons(found, whole)); diff != "" {
			t.Errorf("whole %t (-want +got):\n%s", whole, diff)
		}
	}
}

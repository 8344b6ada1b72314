package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"seckill/internal/voucher"
)

// While Redis does not answer, admins see the last known stock and state, marked as stale.
func TestStaleForAdmins(t *testing.T) {
	t.Parallel()
	for _, stale := range []bool{true, false} {
		a := newAPI(t, func(cfg *setup) {
			cfg.Vouchers = &fakeVouchers{OnAll: func(voucher.Search) (voucher.Found, error) {
				v := seckillVoucher()
				v.Live.Stale = stale
				return voucher.Found{Vouchers: []voucher.Shown{v}}, nil
			}}
		})
		w := asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/voucher"})
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"stale":true`) != stale {
			t.Errorf("stale %t: %d %s", stale, w.Code, w.Body)
		}
	}
}

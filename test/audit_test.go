package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/test/box"
)

// TestAuditPausesSaleWithTooManyUnits raises the stock in the ledger by hand. The sale must be paused, and one instance
// must show why. After the row is corrected, the sale is resumed and sells the units issued.
func TestAuditPausesSaleWithTooManyUnits(t *testing.T) {
	t.Parallel()
	const units = 20
	s := box.RealSite(t, 2)
	b := s.Buyers(s.CreateSale(t, units, time.Now().Add(time.Hour)))
	b.BuyAll(t.Context(), 4, box.Users(1, 5))
	s.Check(t, b, units)
	change := func(stock int) {
		t.Helper()
		_, err := s.Ledger.DB.ExecContext(t.Context(),
			"UPDATE tb_seckill_voucher SET stock = stock + ? WHERE voucher_id = ?", stock, b.Voucher)
		if err != nil {
			t.Fatal(err)
		}
	}
	change(3)
	s.AwaitState(t, b.Voucher, "paused")
	difference := fmt.Sprintf("seckill_audit_difference_units{store=\"ledger\",voucher=\"%d\"} 3\n", b.Voucher)
	shown := 0
	for _, srv := range s.Servers {
		text := srv.Metrics(t)
		if strings.Contains(text, difference) {
			shown++
		}
		for _, name := range []string{
			"seckill_audit_last_timestamp_seconds", "seckill_audit_actions_total", "seckill_dead_letters_waiting 0",
		} {
			if !strings.Contains(text, name) {
				t.Errorf("%s does not show %s", srv.Name, name)
			}
		}
	}
	if shown != 1 {
		t.Errorf("%d instances show the difference, want only the auditor", shown)
	}
	change(-3)
	expectOutput(t, s, 0, []string{"balanced"}, "reconcile", "-repair")
	s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/%d/resume", b.Voucher)), Token: box.AdminToken(),
	})
	s.AwaitState(t, b.Voucher, "on_sale")
	b.BuyAll(t.Context(), 8, box.Users(1, 2*units))
	if e := s.Check(t, b, units); e.Live() != units {
		t.Errorf("%d units sold, want all %d", e.Live(), units)
	}
}

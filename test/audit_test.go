package test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// metrics returns what a server's operations listener shows.
func (s *server) metrics(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.opsAddr+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAuditPausesASaleOfUnitsThatNobodyIssued: somebody raises the stock in the ledger by hand. The sale is paused, one of
// the instances shows why, and once the row is corrected, the sale is resumed and sells what was issued.
func TestAuditPausesASaleOfUnitsThatNobodyIssued(t *testing.T) {
	t.Parallel()
	const units = 20
	s := realSite(t, 2)
	c := s.crowd(s.createSale(t, units, time.Now().Add(time.Hour)))
	c.rush(t.Context(), 4, people(1, 5))
	s.check(t, c, units)
	change := func(stock int) {
		t.Helper()
		_, err := s.ledger.db.ExecContext(t.Context(), "UPDATE tb_seckill_voucher SET stock = stock + ? WHERE voucher_id = ?", stock, c.voucher)
		if err != nil {
			t.Fatal(err)
		}
	}
	change(3)
	s.awaitState(t, c.voucher, "paused")
	difference := fmt.Sprintf("seckill_audit_difference_units{store=\"ledger\",voucher=\"%d\"} 3\n", c.voucher)
	shown := 0
	for _, srv := range s.servers {
		text := srv.metrics(t)
		if strings.Contains(text, difference) {
			shown++
		}
		for _, name := range []string{"seckill_audit_last_timestamp_seconds", "seckill_audit_actions_total", "seckill_dead_letters_waiting 0"} {
			if !strings.Contains(text, name) {
				t.Errorf("%s does not show %s", srv.name, name)
			}
		}
	}
	if shown != 1 {
		t.Errorf("%d instances show the difference, want the one that looks", shown)
	}
	change(-3)
	s.says(t, 0, []string{"balanced"}, "reconcile", "-repair")
	s.client.must(t, http.StatusOK, request{
		method: http.MethodPost, url: s.url(fmt.Sprintf("/voucher/%d/resume", c.voucher)), token: adminToken(),
	})
	s.awaitState(t, c.voucher, "on_sale")
	c.rush(t.Context(), 8, people(1, 2*units))
	if e := s.check(t, c, units); e.liveRows() != units {
		t.Errorf("%d units sold, want all %d", e.liveRows(), units)
	}
}

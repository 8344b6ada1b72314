package test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"seckill/test/box"
)

// over makes a sale one that ended two days ago and has left Redis.
func over(t *testing.T, s *box.Site, voucher int64) {
	t.Helper()
	execute(t, s, "UPDATE tb_seckill_voucher SET begin_time = UTC_TIMESTAMP(3) - INTERVAL 3 DAY, "+
		"end_time = UTC_TIMESTAMP(3) - INTERVAL 2 DAY, retired = 1 WHERE voucher_id = ?", voucher)
	if err := s.Redis.Del(t.Context(), s.Redis.SaleKey(voucher), s.Redis.BuyersKey(voucher)).Err(); err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, s *box.Site, query string, args ...any) {
	t.Helper()
	if _, err := s.Ledger.DB.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func number(t *testing.T, s *box.Site, query string, args ...any) (n int64) {
	t.Helper()
	if err := s.Ledger.DB.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// reported returns the report of a sale without what a purge may change.
func reported(t *testing.T, s *box.Site, voucher int64) map[string]any {
	t.Helper()
	report := box.Decode[map[string]any](t, s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: s.URL(fmt.Sprintf("/admin/voucher/%d/report", voucher)), Token: box.AdminToken(),
	}))
	for _, member := range []string{"at", "purgeTime", "purgedOrders"} {
		delete(report, member)
	}
	return report
}

// purgedOrders is how many cancelled orders fill adds to a sale.
const purgedOrders = 4000

// fill adds cancelled orders to a sale.
func fill(t *testing.T, s *box.Site, voucher int64) {
	t.Helper()
	const digits = "(SELECT 0 AS i UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 " +
		"UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	execute(t, s, "INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, status, create_time, "+
		"cancel_time, pay_deadline) SELECT 700000000000000000 + n, 5000 + n, ?, 1, 1000, 4, "+
		"UTC_TIMESTAMP(3) - INTERVAL 3 DAY, UTC_TIMESTAMP(3) - INTERVAL 3 DAY, UTC_TIMESTAMP(3) - INTERVAL 2 DAY "+
		"FROM (SELECT a.i + 10 * b.i + 100 * c.i + 1000 * d.i AS n FROM "+digits+" a CROSS JOIN "+digits+
		" b CROSS JOIN "+digits+" c CROSS JOIN "+digits+" d) n WHERE n < ?", voucher, purgedOrders)
}

// TestPurgeIsKilled kills a purge at its steps, beside an instance that serves (F65). Reports and the sums of all sales
// are the same at each moment; run again it goes on, two at once are harmless, and so is a ledger restored from before.
func TestPurgeIsKilled(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 1)
	w := &shopper{Site: s, tb: t}
	voucher := w.sale(20, nil)
	var order string
	for user := int64(1); user <= 3; user++ {
		w.user = user
		order = w.buy(voucher, user)
		w.pay(w.beginPayment(order))
		w.awaitStatus(order, "paid")
	}
	paid, taken := paymentOf(t, s, order), today(t, s)
	over(t, s, voucher)
	fill(t, s, voucher)
	before := time.Now().UTC().Format(time.DateOnly)
	args := []string{"purge", "-before", before, "-why", "two years are over"}
	expectOutput(t, s, 3, []string{"3 coupon (coupons can still be redeemed)"}, args...)
	execute(t, s, "UPDATE tb_voucher_order SET status = 3 WHERE voucher_id = ? AND status = 2", voucher)
	want := reported(t, s, voucher)
	expectOutput(t, s, 0, []string{fmt.Sprint(purgedOrders + 3)}, "purge", "-before", before, "-dry-run")
	if diff := gocmp.Diff(want, reported(t, s, voucher)); diff != "" {
		t.Fatalf("a dry run has changed the report:\n%s", diff)
	}

	gone := func() int64 {
		return number(t, s, "SELECT COALESCE(SUM(orders), 0) FROM tb_purge WHERE voucher_id = ?", voucher)
	}
	for range 3 {
		killedAfter(t, s, args, gone)
		if diff := gocmp.Diff(want, reported(t, s, voucher)); diff != "" {
			t.Fatalf("killed with %d orders gone, the report is another (-want +got):\n%s", gone(), diff)
		}
	}
	if n := gone(); n == 0 || n >= purgedOrders {
		t.Fatalf("%d orders are gone: nothing was killed on the way", n)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if got := box.Command(t, s.Servers[0].Settings, args...); got.Code != 0 {
				t.Errorf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
			}
		})
	}
	both.Wait()
	left := number(t, s, "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ?", voucher)
	if diff := gocmp.Diff(want, reported(t, s, voucher)); diff != "" || left != 0 || gone() != purgedOrders+3 {
		t.Fatalf("%d orders are left, %d gone; the report (-want +got):\n%s", left, gone(), diff)
	}
	expectOutput(t, s, 0, []string{"balanced", "4003 orders"}, "reconcile", "-voucher", fmt.Sprint(voucher))
	if diff := gocmp.Diff(taken, today(t, s)); diff != "" {
		t.Errorf("the money of today (-want +got):\n%s", diff)
	}
	w.lateFor(voucher, order, paid)

	// The ledger is restored from before the purge: all is there again, and goes again.
	execute(t, s, "DELETE FROM tb_purge")
	execute(t, s, "DELETE FROM tb_purge_day")
	execute(t, s, "UPDATE tb_seckill_voucher SET epoch = 1, first_epoch = 1, stock = issued WHERE voucher_id = ?",
		voucher)
	fill(t, s, voucher)
	want = reported(t, s, voucher)
	expectOutput(t, s, 0, []string{"4000 orders are gone"}, args...)
	if diff := gocmp.Diff(want, reported(t, s, voucher)); diff != "" {
		t.Fatalf("after a restore the report is another (-want +got):\n%s", diff)
	}
	w.user = 1
	w.post(http.StatusForbidden, "/voucher/seckill/%d", voucher) // it is over, also for those who had bought
}

// killedAfter starts the command and kills it once it has deleted something.
func killedAfter(t *testing.T, s *box.Site, args []string, gone func() int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), box.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, box.Binary(t), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = os.Environ()
	for name, value := range s.Servers[0].Settings {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	was := gone()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	for gone() == was && ctx.Err() == nil {
		select {
		case <-ended:
			t.Fatalf("it has ended:\n%s", &out)
		case <-time.After(5 * time.Millisecond): // the ledger offers no signal
		}
	}
	_ = cmd.Process.Kill()
	<-ended
}

// today returns the money of today. The test of a minute around midnight compares nothing with nothing.
func today(t *testing.T, s *box.Site) map[string]any {
	t.Helper()
	all := box.Decode[map[string]any](t, s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: s.URL("/admin/today"), Token: box.AdminToken(),
	}))
	return map[string]any{"received": all["received"], "returned": all["returned"]}
}

// lateFor asks for an order that was purged with its payment, as a provider, its buyer and staff do: each is told that
// there is no such thing, nothing comes back, and the provider's notice is remembered for staff.
func (s *shopper) lateFor(voucher int64, order, paymentID string) {
	s.tb.Helper()
	refused := func(what string, r box.Request) {
		s.tb.Helper()
		got, err := s.Client.Do(s.tb.Context(), r)
		if err != nil || got.StatusCode != http.StatusNotFound || got.Code != "NOT_FOUND" {
			s.tb.Errorf("%s: %d %s, %v", what, got.StatusCode, got.Body, err)
		}
	}
	buyer, why := box.BuyerToken(s.user), map[string]string{"why": "late"}
	for _, path := range []string{"/payment/callback", "/payment/callback/sandbox"} {
		for range 2 { // it sends the notice again
			notice := paidNotice(s.tb, s.URL(path), paymentID)
			notice.Method = http.MethodPost
			refused("a notice at "+path, notice)
		}
	}
	refused("the order", box.Request{Method: http.MethodGet, URL: s.URL("/order/" + order), Token: buyer})
	for _, act := range []string{"pay", "refund", "cancel"} {
		refused("to "+act, box.Request{
			Method: http.MethodPost, URL: s.URL("/order/" + order + "/" + act), Token: buyer,
		})
	}
	refused("a refund by staff", box.Request{
		Method: http.MethodPost, URL: s.URL("/admin/order/" + order + "/refund"), Token: box.AdminToken(), Body: why,
		Header: map[string]string{"Idempotency-Key": "late"},
	})
	box.Eventually(s.tb, "the notices being remembered", func() error {
		r := s.Client.Must(s.tb, http.StatusOK, box.Request{
			Method: http.MethodGet, URL: s.URL("/admin/notice"), Token: box.AdminToken(),
		})
		if !bytes.Contains(r.Body, []byte("unknown_payment")) || !bytes.Contains(r.Body, []byte(paymentID)) {
			return fmt.Errorf("%s", r.Body)
		}
		return nil
	})
	unwinding := s.Client.Must(s.tb, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: s.URL(fmt.Sprintf("/admin/voucher/%d/call-off", voucher)), Token: box.AdminToken(),
	})
	if want := fmt.Sprintf(`"purgedOrders":%d`, purgedOrders+3); !bytes.Contains(unwinding.Body, []byte(want)) {
		s.tb.Errorf("the call-off page has %s, want %s", unwinding.Body, want)
	}
	for _, table := range []string{"tb_voucher_order", "tb_payment", "tb_order_event"} {
		var n int
		err := s.Ledger.DB.QueryRowContext(s.tb.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n)
		if err != nil || n != 0 {
			s.tb.Errorf("%d rows in %s, %v", n, table, err)
		}
	}
}

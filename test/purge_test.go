package test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
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
	for user := int64(1); user <= 3; user++ {
		w.user = user
		order := w.buy(voucher, user)
		w.pay(w.beginPayment(order))
		w.awaitStatus(order, "paid")
	}
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

// TestForgotten forgets a person who has bought, paid and waited, and then looks for them everywhere.
func TestForgotten(t *testing.T) {
	t.Parallel()
	s, provider := sessionSite(t)
	const subject = "alice-in-wonderland"
	alice := signIn(t, s, 0, provider.Token(t, subject, nil))
	w := &shopper{Site: s, tb: t}
	voucher := w.sale(20, map[string]any{"redeemable": true, "validDays": 30})
	placed := box.Decode[box.Placed](t, s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d?wait=30s", voucher)), Token: alice.Token,
	}))
	execute(t, s, "INSERT INTO tb_payment (id, order_id, user_id, voucher_id, shop_id, amount, state, create_time) "+
		"VALUES ('pay_alice', ?, ?, ?, 1, 1000, 2, UTC_TIMESTAMP(3))", placed.OrderID, alice.UserID, voucher)
	execute(t, s, "INSERT INTO tb_coupon (order_id, code, voucher_id, shop_id, create_time) VALUES "+
		"(?, 'CODEOFALICE12345', ?, 1, UTC_TIMESTAMP(3))", placed.OrderID, voucher)
	execute(t, s, "INSERT INTO tb_webhook_event (number, shop_id, subject, subject_number, type, body, create_time) "+
		"VALUES (1, 1, ?, 1, 'order.paid', ?, UTC_TIMESTAMP(3))", "order-"+placed.OrderID,
		fmt.Sprintf(`{"data":{"id":%q,"userId":%d,"quantity":1}}`, placed.OrderID, alice.UserID))
	execute(t, s, "INSERT INTO tb_unpaid (user_id, expired, last_time, number) VALUES (?, 1, UTC_TIMESTAMP(3), 1)",
		alice.UserID)
	execute(t, s, "INSERT INTO tb_request (caller, request_key, route, body_digest, made, create_time) VALUES "+
		"(?, 'k', 'POST /x', REPEAT('x', 32), '1', UTC_TIMESTAMP(3))", alice.UserID)
	execute(t, s, "INSERT INTO tb_place (voucher_id, position, user_id, state, create_time) VALUES (?, 1, ?, 7, "+
		"UTC_TIMESTAMP(3))", voucher, alice.UserID)
	execute(t, s, "INSERT INTO tb_limited_buyer (voucher_id, user_id, writes) VALUES (?, ?, 1)", voucher, alice.UserID)
	forget := func() string {
		t.Helper()
		return call(t, s, 0, http.MethodPost, fmt.Sprintf("/admin/user/%d/forget", alice.UserID), box.AdminToken(),
			map[string]string{"why": "she asked"})
	}
	if got := forget(); got != "409 STILL_OWED" {
		t.Fatalf("while the sale runs: %s", got)
	}
	execute(t, s, "UPDATE tb_voucher_order SET status = 3 WHERE id = ?", placed.OrderID)
	over(t, s, voucher)
	want := reported(t, s, voucher)
	export := s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: s.URL(fmt.Sprintf("/admin/user/%d/export", alice.UserID)), Token: box.AdminToken(),
	})
	for _, has := range []string{
		subject, "CODEOFALICE12345", "pay_alice", placed.OrderID, `"place"`, `"unpaid"`, `"request"`,
	} {
		if !strings.Contains(string(export.Body), has) {
			t.Errorf("the export has no %s: %s", has, export.Body)
		}
	}
	for range 2 { // the second finds nothing
		if got := forget(); got != "200" {
			t.Fatalf("forgetting: %s", got)
		}
	}
	if diff := gocmp.Diff(want, reported(t, s, voucher)); diff != "" {
		t.Errorf("the report has changed:\n%s", diff)
	}
	box.Eventually(t, "her token being void", func() error {
		got := call(t, s, 1, http.MethodGet, "/order/"+placed.OrderID, alice.Token, nil)
		if got != "401 UNAUTHENTICATED" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	pseudonym := number(t, s, "SELECT user_id FROM tb_voucher_order WHERE id = ?", placed.OrderID)
	if pseudonym < 9e15 || number(t, s, "SELECT COUNT(*) FROM tb_voucher_order WHERE user_id = ?", pseudonym) != 1 {
		t.Errorf("her order is user %d's", pseudonym)
	}
	if got := call(t, s, 0, http.MethodGet, "/order/"+placed.OrderID, box.BuyerToken(pseudonym), nil); got !=
		"401 UNAUTHENTICATED" {
		t.Errorf("a token that names the pseudonym: %s", got)
	}
	nowhere(t, s, fmt.Sprint(alice.UserID), subject, "CODEOFALICE12345")
}

// nowhere looks for texts in every column of every table, in Redis and in the metrics.
func nowhere(t *testing.T, s *box.Site, texts ...string) {
	t.Helper()
	rows, err := s.Ledger.DB.QueryContext(t.Context(),
		"SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err reports the error
	var columns [][2]string
	for rows.Next() {
		var c [2]string
		if err := rows.Scan(&c[0], &c[1]); err != nil {
			t.Fatal(err)
		}
		columns = append(columns, c)
	}
	if err := rows.Err(); err != nil || len(columns) < 200 {
		t.Fatal(len(columns), err)
	}
	for _, c := range columns {
		if c[0] == "tb_session_void" { // so that her tokens stay void
			continue
		}
		for _, text := range texts {
			if n := number(t, s, fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE CAST(`%s` AS CHAR) LIKE ?", c[0], c[1]),
				"%"+text+"%"); n > 0 {
				t.Errorf("%s is in %s.%s", text, c[0], c[1])
			}
		}
	}
	keys, err := s.Redis.Keys(t.Context(), strings.TrimSuffix(s.Redis.StreamKey(), "{p0}:orders")+"*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatal(keys, err)
	}
	for _, key := range keys {
		dump, err := s.Redis.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if strings.Contains(key, text) || strings.Contains(dump, text) {
				t.Errorf("%s is in Redis's %s", text, key)
			}
		}
	}
	for _, srv := range s.Servers {
		metrics := srv.Metrics(t)
		for _, text := range texts {
			if strings.Contains(metrics, text) {
				t.Errorf("%s is in the metrics", text)
			}
		}
	}
}

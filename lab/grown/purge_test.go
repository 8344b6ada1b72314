package grown

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/lab/load"
	"seckill/test/box"
)

// purged are the tables from which a purge deletes what these sales have.
var purged = []string{"tb_voucher_order", "tb_order_event", "tb_payment", "tb_voucher_operation"}

// TestPurgeBesideRush purges the sales of a year while a crowd buys: their orders are gone, reports and the sums of all
// sales are as before, and all buyers get their units. It logs sizes, times, and how long the buyers waited.
func TestPurgeBesideRush(t *testing.T) {
	t.Parallel()
	all := orders(t)
	m := open(t, Size{Sales: 4, PerSale: all / 4}, asFilled)
	took, rate := number(t, envRush, 2), number(t, envRate, 200)
	begin := time.Now().Add(-time.Minute)
	sold := m.client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: m.server.URL("/voucher/seckill"), Token: tokens()["admin"],
		Body: box.SeckillDraft(1, 1_000_000, begin, begin.Add(24*time.Hour)),
	})
	sale := box.Decode[box.Voucher](t, sold).ID
	box.Eventually(t, "the sale being on", func() error {
		v := box.Decode[box.Voucher](t, m.client.Must(t, http.StatusOK, box.Request{
			Method: http.MethodGet, URL: m.server.URL(fmt.Sprint("/voucher/", sale)),
		}))
		if v.SaleState != "on_sale" {
			return fmt.Errorf("it is %s", v.SaleState)
		}
		return nil
	})
	reports := m.reports()
	rows, size := m.sizes()
	b := load.Burst{
		Users: load.NewUsers(int(2*(took+1)*rate) + 1000), Connections: 32, Want: http.StatusAccepted,
		Endpoints: []load.Endpoint{{Addr: strings.TrimPrefix(m.server.URL(""), "http://"), Vouchers: []int64{sale}}},
		WarmUp:    time.Second, Duration: time.Duration(took) * time.Second, Rate: float64(rate), Whole: true,
	}
	alone, err := b.Send(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ended := m.command("purge", "-before", time.Now().UTC().Format(time.DateOnly), "-why", "the year is over")
	box.Eventually(t, "the purge having begun", func() error {
		var n int64
		if err := m.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM tb_purge").Scan(&n); err != nil || n == 0 {
			return fmt.Errorf("%d vouchers, %w", n, err)
		}
		return nil
	})
	b.First = alone.Next
	beside, err := b.Send(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	purging := time.Since(start)
	left, sizeLeft := m.sizes()
	for _, table := range purged {
		if _, err := m.db.ExecContext(t.Context(), "OPTIMIZE TABLE "+table); err != nil {
			t.Fatal(err)
		}
	}
	_, optimized := m.sizes()
	t.Logf("%d orders gone in %v, 13 s of it switching on; rows %d, then %d; MB %d, then %d, optimized %d; "+
		"buyers alone: p50 %v, p99 %v; beside the purge: p50 %v, p99 %v", all, purging.Round(time.Second), rows, left,
		size>>20,
		sizeLeft>>20, optimized>>20, alone.P50, alone.P99, beside.P50, beside.P99)
	if diff := cmp.Diff(reports, m.reports()); diff != "" {
		t.Errorf("the reports have changed (-before +after):\n%s", diff)
	}
	var orders int64
	if err := m.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id <= 4").
		Scan(&orders); err != nil || orders != 0 {
		t.Errorf("%d orders are left, %v", orders, err)
	}
}

// reports returns the reports of the four sales, without what a purge may change.
func (m meter) reports() (all []map[string]any) {
	m.t.Helper()
	for voucher := 1; voucher <= 4; voucher++ {
		r := m.client.Must(m.t, http.StatusOK, box.Request{
			Method: http.MethodGet, URL: m.server.URL(fmt.Sprintf("/admin/voucher/%d/report", voucher)),
			Token: tokens()["admin"],
		})
		var report struct{ Data map[string]any }
		if err := json.Unmarshal(r.Body, &report); err != nil {
			m.t.Fatal(err)
		}
		for _, member := range []string{"at", "purgeTime", "purgedOrders"} {
			delete(report.Data, member)
		}
		all = append(all, report.Data)
	}
	return all
}

// sizes returns how many rows the purged tables have, and how many bytes.
func (m meter) sizes() (rows, bytes int64) {
	m.t.Helper()
	for _, table := range purged {
		var n int64
		if err := m.db.QueryRowContext(m.t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
			m.t.Fatal(err)
		}
		rows += n
		if _, err := m.db.ExecContext(m.t.Context(), "ANALYZE TABLE "+table); err != nil {
			m.t.Fatal(err)
		}
	}
	err := m.db.QueryRowContext(m.t.Context(), "SELECT SUM(data_length + index_length) FROM information_schema.tables "+
		"WHERE table_schema = DATABASE() AND table_name IN ('"+strings.Join(purged, "','")+"')").Scan(&bytes)
	if err != nil {
		m.t.Fatal(err)
	}
	return rows, bytes
}

// command starts a command of the server, and returns what says that it has ended well.
func (m meter) command(args ...string) <-chan error {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 30*time.Minute)
	cmd := exec.CommandContext(ctx, box.Binary(m.t), args...)
	cmd.Dir, cmd.Env = m.t.TempDir(), os.Environ()
	for name, value := range m.server.Settings {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		err := cmd.Run()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, &out)
		}
		ended <- err
	}()
	return ended
}

// ordinaries are ordinary vouchers with one order each.
const ordinaries = 1000

// TestPurgePreview has a sale and an ordinary voucher with half of the orders each, all redeemed, an event for each,
// and many ordinary vouchers with one order, and asks what a purge would do; then again while an endpoint waits for all
// events. It logs the times, and what the database reads.
func TestPurgePreview(t *testing.T) {
	t.Parallel()
	size := Size{Sales: 2, PerSale: orders(t) / 2}
	m := open(t, size, redeemed)
	for _, away := range []bool{false, true} {
		if away {
			const never = "UPDATE tb_webhook_endpoint SET next_number = 1, retry_time = NOW(3) + INTERVAL 1 DAY, " +
				"failures = 5, failing_since = NOW(3)"
			if _, err := m.db.ExecContext(t.Context(), never); err != nil {
				t.Fatal(err)
			}
		}
		start, before := time.Now(), m.reads()
		err := <-m.command("purge", "-before", time.Now().UTC().Format(time.DateOnly), "-dry-run")
		exit, stays := errors.AsType[*exec.ExitError](err)
		if stays = stays && exit.ExitCode() == 3; err != nil && !stays || stays != away {
			t.Errorf("an endpoint is away: %t; %v", away, err)
		}
		took, read := time.Since(start), int64(m.reads()-before)
		t.Logf("%d orders of two vouchers and %d other vouchers, an endpoint is away: %t; %v, %d entries and rows read",
			size.Orders(), ordinaries, away, took.Round(time.Millisecond), read)
	}
}

// redeemed has a coupon for each paid order, which is redeemed, and an event that was delivered. It makes the second
// voucher an ordinary one, and adds others.
func redeemed(ctx context.Context, db *sql.DB, _ Size) error {
	for _, statement := range []string{
		"UPDATE tb_voucher SET redeemable = 1",
		"UPDATE tb_voucher SET type = 0 WHERE id = 2",
		"DELETE FROM tb_seckill_voucher WHERE voucher_id = 2",
		"DELETE FROM tb_voucher_operation WHERE voucher_id = 2",
		"UPDATE tb_voucher_order SET kind = 0 WHERE voucher_id = 2",
		"UPDATE tb_voucher_order SET status = 3, redeem_time = pay_time WHERE status = 2",
		`INSERT INTO tb_coupon (order_id, code, voucher_id, shop_id, create_time)
			SELECT order_id, LPAD(number, 16, '0'), voucher_id, shop_id, create_time FROM tb_payment`,
		`INSERT INTO tb_webhook_event (number, shop_id, subject, subject_number, type, body, create_time)
			SELECT number, shop_id, CONCAT('order-', order_id), 1, 'order.paid', '{}', NOW(3) FROM tb_payment`,
		"UPDATE tb_webhook_sequence SET number = (SELECT MAX(number) FROM tb_webhook_event)",
		`INSERT INTO tb_webhook_endpoint (shop_id, url, secret, next_number, create_time)
			SELECT 0, 'https://shop.example/a', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', number + 1, NOW(3)
			FROM tb_webhook_sequence`,
		fmt.Sprintf(`INSERT INTO tb_voucher (id, shop_id, title, pay_value, actual_value, type, status, version,
			create_time, update_time, redeemable)
			SELECT 1000 + number, 3, 'always', 100, 100, 0, 1, 1, create_time, NOW(3), 1
			FROM tb_payment ORDER BY number LIMIT %d`, ordinaries),
		`INSERT INTO tb_voucher_order (id, user_id, kind, voucher_id, amount, status, create_time)
			SELECT 650000000000000000 + id, 1 + id, 0, id, 100, 3, create_time FROM tb_voucher WHERE id > 1000`,
		"ANALYZE TABLE tb_voucher, tb_voucher_order, tb_coupon, tb_webhook_event",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}

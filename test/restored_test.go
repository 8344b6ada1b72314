package test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/test/box"
)

// TestMigrateRestored restores a database from before a call-off, with no instance running: the command pauses every
// sale that has not ended, says what Redis had of the one that was called off, and ends the sessions. Once the
// instances run, no sale sells until somebody resumes it.
func TestMigrateRestored(t *testing.T) {
	t.Parallel()
	site, provider := sessionSite(t)
	open := site.CreateSale(t, 10, time.Now().Add(time.Hour))
	called := site.CreateSale(t, 10, time.Now().Add(time.Hour))
	paused := site.CreateSale(t, 10, time.Now().Add(time.Hour))
	over := site.CreateSale(t, 10, time.Now().Add(time.Hour))
	alice := signIn(t, site, 0, provider.Token(t, "alice", nil))
	decide := func(id int64, path string, body any) {
		t.Helper()
		r, err := site.Client.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: site.URL(fmt.Sprintf(path, id)), Token: box.AdminToken(), Body: body,
			Header: map[string]string{"Idempotency-Key": rand.Text()},
		})
		if err != nil || r.StatusCode/100 != 2 {
			t.Fatalf("%s of %d: %d %s, %v", path, id, r.StatusCode, r.Body, err)
		}
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := site.Ledger.DB.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	box.Eventually(t, "operations having identities", func() error {
		for _, s := range site.Servers {
			if !strings.Contains(s.Log.String(), "from now on operations get them") {
				return fmt.Errorf("%s gives them none", s.Name)
			}
		}
		return nil
	})
	decide(paused, "/voucher/%d/pause", nil)
	site.AwaitState(t, paused, "paused")
	exec("CREATE TABLE kept AS SELECT * FROM tb_seckill_voucher WHERE voucher_id = ?", called)
	decide(called, "/admin/voucher/%d/call-off", map[string]string{"why": "the price was wrong"})
	box.Eventually(t, "Redis having the call-off", func() error {
		var pending int
		err := site.Ledger.DB.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND state = 1", called).Scan(&pending)
		if err == nil && pending > 0 {
			err = fmt.Errorf("%d operations are pending", pending)
		}
		return err
	})
	for _, s := range site.Servers {
		if code, err := s.Terminate(); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v", code, err)
		}
	}
	exec("DELETE o FROM tb_voucher_operation o JOIN kept k ON k.voucher_id = o.voucher_id AND " +
		"o.number > k.last_operation")
	exec("UPDATE tb_seckill_voucher s JOIN kept k ON k.voucher_id = s.voucher_id SET s.called_off = k.called_off, " +
		"s.stock = k.stock, s.end_time = k.end_time, s.last_operation = k.last_operation")
	exec("DROP TABLE kept")
	exec("UPDATE tb_seckill_voucher SET end_time = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE voucher_id = ?", over)

	says := func(want ...string) {
		t.Helper()
		got := box.Command(t, site.Servers[0].Settings, "migrate", "-restored")
		var lines []string
		for line := range strings.Lines(got.Stdout) {
			lines = append(lines, strings.TrimSpace(line))
		}
		t.Logf("%s%s", got.Stdout, got.Stderr)
		if got.Code != 0 || !slices.EqualFunc(lines, want, strings.HasPrefix) {
			t.Fatalf("exit code %d; want lines that begin with\n%s", got.Code, strings.Join(want, "\n"))
		}
	}
	lost := []string{
		fmt.Sprintf("voucher %d: the database has lost a decision (call_off)", called),
		"Redis had     called_off from ", "the database  open from ",
	}
	const sessions = "the sessions of all users of identity providers are void"
	pausing := func(id int64) string { return fmt.Sprintf("voucher %d: its sale is paused", id) }
	const current = "the schema is up to date"
	first := []string{current, pausing(open), pausing(called)}
	says(slices.Concat(first, lost, []string{"sales paused now: 2", sessions})...)
	says(slices.Concat([]string{current}, lost, []string{"sales paused now: 0", sessions})...)

	site.Start(t)
	for _, id := range []int64{open, called, paused} {
		site.AwaitState(t, id, "paused")
		sale := fmt.Sprintf("/voucher/seckill/%d", id)
		if got := call(t, site, 1, http.MethodPost, sale, box.BuyerToken(7), nil); got != "503 PAUSED" {
			t.Errorf("a purchase in sale %d is answered %s", id, got)
		}
	}
	box.Eventually(t, "the session being void", func() error {
		if got := call(t, site, 1, http.MethodGet, "/order", alice.Token, nil); !strings.HasPrefix(got, "401 ") {
			return fmt.Errorf("it is answered %s", got)
		}
		return nil
	})
	decide(open, "/voucher/%d/resume", nil)
	site.AwaitState(t, open, "on_sale")
	decide(called, "/admin/voucher/%d/call-off", map[string]string{"why": "once more"})
	site.AwaitState(t, called, "called_off")
}

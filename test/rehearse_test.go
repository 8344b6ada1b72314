package test

import (
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/voucher"
	"seckill/test/box"
)

// TestRehearse rehearses a sale on two real instances: only the crowd can buy, the real sale does not change, no list
// shows the rehearsal, and in the end only its lines in the audit trail are left.
func TestRehearse(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 2)
	sale := s.CreateWindow(t, 40, time.Now().Add(2*time.Hour), time.Now().Add(3*time.Hour))
	ask := func(token, path string) box.Reply {
		t.Helper()
		r, err := box.NewClient(t).Do(t.Context(), box.Request{Method: http.MethodGet, URL: s.URL(path), Token: token})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	args := []string{
		"rehearse", "-voucher", strconv.FormatInt(sale, 10), "-buyers", "200", "-duration", "1s", "-connections", "8",
		"-url", s.URLs(), "-loadgen", box.Loadgen(t),
	}
	got := box.Command(t, s.Servers[0].Settings, args...)
	// Whether it is a go depends on how busy this machine is. But the checker must find nothing.
	if got.Code != 0 && got.Code != 3 || !strings.Contains(got.Stdout, "VERIFIED") ||
		!strings.Contains(got.Stdout, "40 units within") || !strings.Contains(got.Stderr, "-longest 20m0s") {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	t.Log(got.Stderr + got.Stdout)
	shadow := rehearsals(t, s)
	if len(shadow) != 1 || !strings.Contains(got.Stderr, fmt.Sprintf("-voucher %d ", shadow[0])) {
		t.Fatalf("rehearsals %v\n%s", shadow, got.Stderr)
	}
	if stock, issued, err := s.Ledger.Sale(t.Context(), sale); err != nil || stock != 40 || issued != 40 {
		t.Errorf("the real sale has %d of %d units, %v", stock, issued, err)
	}
	if rows, err := s.Ledger.Orders(t.Context(), sale); err != nil || len(rows) != 0 {
		t.Errorf("the real sale has orders %v, %v", rows, err)
	}
	for _, list := range []string{
		"/voucher/list/1", "/admin/voucher", "/admin/sale", fmt.Sprintf("/voucher/list/%d", voucher.RehearsalShop),
	} {
		if body := string(ask(box.AdminToken(), list).Body); strings.Contains(body, "Rehearsal") {
			t.Errorf("%s shows the rehearsal: %s", list, body)
		}
	}
	page := fmt.Sprintf("/voucher/%d", shadow[0])
	made := box.BuyerToken(voucher.FirstRehearsalUser)
	for token, want := range map[string]int{
		"": http.StatusNotFound, box.BuyerToken(42): http.StatusNotFound, made: http.StatusOK,
		box.AdminToken(): http.StatusOK,
	} {
		if got := ask(token, page); got.StatusCode != want {
			t.Errorf("%s for %q: %d %s, want %d", page, token, got.StatusCode, got.Body, want)
		}
	}
	buy, err := box.NewClient(t).Do(t.Context(), box.Request{
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d", shadow[0])), Token: box.BuyerToken(42),
	})
	if err != nil || buy.StatusCode != http.StatusNotFound {
		t.Errorf("a real user's purchase in the rehearsal: %d %s, %v", buy.StatusCode, buy.Body, err)
	}

	awaitTimeline(t, s, shadow[0], 200)
	pretendEnded(t, s, shadow[0])
	box.Eventually(t, "the rehearsal to be removed", func() error {
		if left := rehearsals(t, s); len(left) > 0 {
			return fmt.Errorf("vouchers %v are left", left)
		}
		return nil
	})
	for _, table := range []string{"tb_voucher_order", "tb_voucher_operation", "tb_seckill_voucher", "tb_sale_minute"} {
		var n int
		err := s.Ledger.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table+
			" WHERE voucher_id = ?", shadow[0]).Scan(&n)
		if err != nil || n > 0 {
			t.Errorf("%s has %d rows of the rehearsal, %v", table, n, err)
		}
	}
	if n, err := s.Redis.Exists(t.Context(), s.Redis.SaleKey(shadow[0]),
		s.Redis.BuyersKey(shadow[0])).Result(); err != nil || n > 0 {
		t.Errorf("Redis has %d keys of the rehearsal, %v", n, err)
	}
}

// awaitTimeline waits until the timeline counts a request for each buyer and has not changed for seven seconds. In
// production, a rehearsal is removed hours after its last timeline row was written.
func awaitTimeline(t *testing.T, s *box.Site, id, buyers int64) {
	t.Helper()
	const quiet = 7 * time.Second // instances flush their counts each second, and write them every five
	last, since := int64(0), time.Now()
	box.Eventually(t, "the whole timeline", func() error {
		var asked int64
		err := s.Ledger.DB.QueryRowContext(t.Context(),
			"SELECT COALESCE(SUM(asked), 0) FROM tb_sale_minute WHERE voucher_id = ?", id).Scan(&asked)
		if asked != last {
			last, since = asked, time.Now()
		}
		if err == nil && (asked < buyers || time.Since(since) < quiet) {
			err = fmt.Errorf("it has %d requests of %d buyers", asked, buyers)
		}
		return err
	})
}

// TestRehearseByHTTP rehearses as the console does: an admin starts the rehearsal, its crowd is a separate process, and
// its results remain after the sale is gone. If two admins start one at once, there is only one. The crowd's token is
// valid for nothing else.
func TestRehearseByHTTP(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 2)
	sale := s.CreateWindow(t, 40, time.Now().Add(2*time.Hour), time.Now().Add(3*time.Hour))
	list := fmt.Sprintf("/admin/voucher/%d/rehearsal", sale)
	runs := func() []rehearsalShown {
		t.Helper()
		return box.Decode[[]rehearsalShown](t, s.Client.Must(t, http.StatusOK,
			box.Request{Method: http.MethodGet, URL: s.URL(list), Token: box.AdminToken()}))
	}
	id := startTwice(t, s, list, runs)
	crowd(t, s, id, 200)
	run := runs()[0]
	if run.State != "done" || run.Go == nil || len(run.Lines) == 0 || run.Accepted != 40 || run.SoldOut <= 0 ||
		run.Buyers != 200 || run.VoucherID != sale {
		t.Errorf("afterwards: %+v", run)
	}
	if end := time.Until(run.EndTime); end > time.Minute {
		t.Errorf("it ends only in %s", end)
	}
	s.Client.Must(t, http.StatusNotFound, box.Request{ // a real sale cannot be ended as a rehearsal
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/admin/rehearsal/%d/end", sale)), Token: box.AdminToken(),
	})
	for path, want := range map[string]int{
		fmt.Sprintf("/rehearsal/%d/order", id):   http.StatusForbidden,
		fmt.Sprintf("/rehearsal/%d/order", sale): http.StatusNotFound,
		"/admin/order":                           http.StatusForbidden, list: http.StatusForbidden,
	} {
		s.Client.Must(t, want, box.Request{Method: http.MethodGet, URL: s.URL(path), Token: box.CrowdToken(sale)})
	}

	pretendEnded(t, s, id)
	box.Eventually(t, "the rehearsal to be removed", func() error {
		if left := rehearsals(t, s); len(left) > 0 {
			return fmt.Errorf("vouchers %v are left", left)
		}
		return nil
	})
	if kept := runs(); len(kept) != 1 || kept[0].State != "done" || kept[0].Accepted != 40 {
		t.Errorf("kept: %+v", kept)
	}
	near := s.CreateWindow(t, 5, time.Now().Add(50*time.Minute), time.Now().Add(3*time.Hour))
	r := s.Client.Must(t, http.StatusConflict,
		box.Request{Method: http.MethodPost, URL: s.URL(list), Token: box.AdminToken()})
	if !strings.Contains(string(r.Body), fmt.Sprintf(`"voucherId":%d`, near)) {
		t.Errorf("with a sale near: %s", r.Body)
	}
}

// startTwice has two admins start a rehearsal at once, and returns the only one that exists then.
func startTwice(t *testing.T, s *box.Site, list string, runs func() []rehearsalShown) int64 {
	t.Helper()
	var wg sync.WaitGroup
	var codes [2]int
	for i := range codes {
		wg.Go(func() { // on a busy machine the answer may be 503, whatever the outcome
			for begun := time.Now(); codes[i] != http.StatusCreated && codes[i] != http.StatusConflict &&
				time.Since(begun) < box.Patience; {
				r, err := box.NewClient(t).Do(t.Context(),
					box.Request{Method: http.MethodPost, URL: s.Servers[i].URL(list), Token: box.AdminToken()})
				if codes[i] = r.StatusCode; err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	all := runs()
	if !slices.Contains(codes[:], http.StatusConflict) || len(all) != 1 || all[0].State != "waiting" {
		t.Fatalf("two admins at once: %v, %+v", codes, all)
	}
	return all[0].ID
}

// crowd has buyers take part in a rehearsal.
func crowd(t *testing.T, s *box.Site, rehearsal int64, buyers int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), box.Loadgen(t), "-url", s.URLs(), "-voucher",
		strconv.FormatInt(rehearsal, 10), "-buyers", strconv.Itoa(buyers), "-duration", "1s", "-connections", "8")
	cmd.Env = []string{"SECKILL_JWT_SECRET=" + box.Secret}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "VERIFIED") {
		t.Fatalf("the crowd: %v\n%s", err, out)
	}
}

// TestRehearseEmbedded checks that somebody who tries the service out can rehearse while the demonstration sale runs.
func TestRehearseEmbedded(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	runs := func() []rehearsalShown {
		t.Helper()
		return box.Decode[[]rehearsalShown](t, s.Client.Must(t, http.StatusOK, box.Request{
			Method: http.MethodGet, URL: s.URL("/admin/voucher/1/rehearsal"), Token: box.AdminToken(),
		}))
	}
	box.Eventually(t, "a rehearsal", func() error {
		r, err := s.Client.Do(t.Context(),
			box.Request{Method: http.MethodPost, URL: s.URL("/admin/voucher/1/rehearsal"), Token: box.AdminToken()})
		// 409: an earlier try succeeded, but was answered too late.
		if err == nil && r.StatusCode != http.StatusCreated && r.StatusCode != http.StatusConflict {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		return err
	})
	crowd(t, s, runs()[0].ID, 150)
	if r := runs()[0]; r.State != "done" || r.Accepted != 100 || r.SoldOut <= 0 {
		t.Errorf("afterwards: %+v", r)
	}
}

// rehearsalShown is the part of a rehearsal that the tests read.
type rehearsalShown struct {
	ID, VoucherID, Accepted, Buyers int64
	State                           string
	EndTime                         time.Time
	SoldOut                         float64 `json:"soldOutSeconds"`
	Go                              *bool
	Lines                           []struct{ Name, What string }
}

// TestRehearseRefuses checks that a refusal names the sale that prevents a rehearsal, and that wrong arguments are
// named.
func TestRehearseRefuses(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 1)
	far := s.CreateWindow(t, 5, time.Now().Add(2*time.Hour), time.Now().Add(3*time.Hour))
	rehearse := func(code int, word string, id int64, args ...string) {
		t.Helper()
		expectOutput(t, s, code, []string{word}, append([]string{
			"rehearse", "-loadgen", box.Loadgen(t), "-url", s.URL(""), "-voucher", strconv.FormatInt(id, 10),
		}, args...)...)
	}
	rehearse(1, "there is no voucher 4711", 4711)
	rehearse(1, "-url: Get \"http://127.0.0.1:1/healthz\"", far, "-url", s.URL("")+",http://127.0.0.1:1")
	rehearse(2, "-url is \"localhost:8080\"", far, "-url", "localhost:8080")
	rehearse(2, "-connections is 0", far, "-connections", "0")
	rehearse(2, "-voucher is 0", 0)
	rehearse(2, "-duration is 2h0m0s", far, "-duration", "2h")
	rehearse(2, "executable file not found", far, "-loadgen", "nosuchprogram")
	near := s.CreateWindow(t, 5, time.Now().Add(50*time.Minute), time.Now().Add(3*time.Hour))
	rehearse(1, fmt.Sprintf("the sale of voucher %d", near), far)
	if left := rehearsals(t, s); len(left) > 0 {
		t.Errorf("refused, and made all the same: vouchers %v", left)
	}
}

// rehearsals returns the vouchers of rehearsals in the ledger.
func rehearsals(t *testing.T, s *box.Site) (ids []int64) {
	t.Helper()
	rows, err := s.Ledger.DB.QueryContext(t.Context(), "SELECT id FROM tb_voucher WHERE shop_id = ?",
		voucher.RehearsalShop)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// pretendEnded moves a sale's window two minutes into the past, in both stores, so that the sale is due to be retired.
func pretendEnded(t *testing.T, s *box.Site, id int64) {
	t.Helper()
	begin, end := time.Now().UTC().Add(-5*time.Minute), time.Now().UTC().Add(-2*time.Minute)
	if err := s.Redis.HSet(t.Context(), s.Redis.SaleKey(id), "begin", begin.UnixMilli(), "end",
		end.UnixMilli()).Err(); err != nil {
		t.Fatal(err)
	}
	// The ledger comes last: from here on the sale may be retired, and a write to its key would bring the key back.
	if _, err := s.Ledger.DB.ExecContext(t.Context(),
		"UPDATE tb_seckill_voucher SET begin_time = ?, end_time = ? WHERE voucher_id = ?", begin, end, id); err != nil {
		t.Fatal(err)
	}
}

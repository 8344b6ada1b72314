package grown

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the ledger

	"seckill/internal/testkit"
	"seckill/lab/load"
	"seckill/test/box"
)

const (
	// envOrders is how many orders the ledger has; a hundred thousand without it.
	envOrders = "SECKILL_TEST_ORDERS"
	// mostRead is how many index entries and rows a page may read, whatever it is filtered by. A page has 100 lines.
	mostRead = 1000
	sales    = 40
	// entrants entered the draw of voucher 1; drawLines of them are on a page.
	entrants, drawLines = 500_000, 1000
)

// values are what a parameter of a list is set to in turn; "" leaves it out.
type values map[string][]string

// list is a route with its parameters, and who asks for it.
type list struct {
	route  string
	params values
	by     []string
	more   int64 // entries and rows that it may read beyond mostRead
}

// lists returns the lists of staff and of buyers, with values that select much, little and nothing. Shop 2 has a third
// of the sales. Sums read what they add up: a report its sale's orders and payments, the list of all shops' sales the
// orders that are unpaid or being refunded, and counts of a waiting list its places. A page of a draw reads its lines,
// and the orders of those who are on it.
func lists(perSale int64) []list {
	admin, staff, buyer := []string{"admin"}, []string{"admin", "merchant"}, []string{"buyer"}
	cursor := strconv.Itoa(firstOrder + perSaleIDs*3/2)
	days := []string{"", "2026-01-05T00:00:00Z"}
	ends := []string{"", "2026-01-03T00:00:00Z"}
	phases := values{"phase": {"", "coming", "running", "ended"}, "before": {"", "1000"}}
	return []list{
		{"/admin/order", values{
			"voucherId": {"", "1", "2"}, "shopId": {"", "2"}, "userId": {"", "1010000007"}, "before": {"", cursor},
			"status": {"", "paid", "cancelled", "refunding", "failed", "unpaid", "refunded"},
			"from":   days, "to": ends,
		}, staff, 0},
		{"/admin/payment", values{
			"voucherId": {"", "1", "2"}, "shopId": {"", "2"}, "before": {"", "500"},
			"state":   {"", "received", "open", "refunding", "stuck", "late"},
			"dispute": {"", "none", "open", "lost"}, "from": days, "to": ends,
		}, staff, 0},
		{"/admin/voucher", values{
			"shopId": {"", "2"}, "title": {"", "January", "nowhere"}, "archived": {"", "true"}, "before": {"", "1000"},
		}, staff, 0},
		{"/admin/search", values{"q": {
			"1", "7", "1010000007", cursor, "January", "nowhere", "pay_1", strings.Repeat("9", 18),
			"shop 3", "2",
		}}, staff, 0},
		{"/admin/sale", phases, []string{"merchant"}, 0},
		{"/admin/sale", phases, admin, sales * perSale / 50},
		{"/admin/audit", values{"voucherId": {"", "1"}, "adminId": {"", "7", "8"}, "before": {"", "1000"}}, staff, 0},
		{"/admin/webhook/1/delivery", values{"before": {"", "1000"}}, staff, 0},
		{"/admin/webhook/2/delivery", values{"before": {"", "1000"}}, staff, 0},
		{"/admin/webhook/3/delivery", values{"before": {"", "1000"}}, staff, 0},
		{"/admin/webhook/4/delivery", values{"before": {"", "1000"}}, admin, 0},
		{"/admin/webhook/1/deadletter", values{"before": {"", "1000"}}, staff, 0},
		{"/admin/webhook", nil, staff, 0},
		{"/order", values{"voucherId": {"", "1"}, "status": {"", "paid", "unpaid"}, "before": {"", cursor}}, buyer, 0},
		{"/waitlist", nil, buyer, 0},
		{"/voucher/1/waitlist", nil, buyer, 0},
		{"/voucher/1", nil, append(staff, "buyer"), 0},
		{"/admin/today", nil, staff, 0},
		{"/admin/provider", nil, admin, sales * perSale / 50},
		{"/admin/notice", nil, admin, 0},
		{"/admin/partition", nil, admin, 0},
		{"/admin/deadletter", nil, admin, 0},
		{"/admin/template", nil, staff, 0},
		{"/admin/shop", values{"before": {"", "2"}}, admin, 0},
		{"/admin/shop/2", nil, staff, 0},
		{"/shop/2", nil, buyer, 0},
		{"/admin/guards/proposal", values{"units": {"100"}, "crowd": {"1000"}}, staff, 0},
		{"/admin/voucher/1/waitlist", nil, staff, 2 * perSale},
		{"/admin/voucher/1/report", nil, staff, 6 * perSale},
		{"/admin/voucher/1/call-off", values{"before": {"", cursor}}, staff, 12 * perSale},
		{"/voucher/list/2", nil, buyer, 0},
		{"/voucher/1/draw", values{
			"limit": {strconv.Itoa(drawLines)}, "after": {"", strings.Repeat("7f", 32), strings.Repeat("ff", 32)},
		}, buyer, 3 * drawLines},
	}
}

// combinations returns every way to set the parameters, each once.
func (v values) combinations() []url.Values {
	all := []url.Values{{}}
	if _, paged := v["before"]; paged {
		all[0].Set("limit", "100")
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		var more []url.Values
		for _, q := range all {
			for _, value := range v[name] {
				with := maps.Clone(q)
				if value != "" {
					with[name] = []string{value}
				}
				more = append(more, with)
			}
		}
		all = more
	}
	return all
}

// TestListsReadFew asks for the first page of each list of staff, with every combination of its filters and as admin
// and as merchant, on a ledger of a year, and counts what the database reads for it.
func TestListsReadFew(t *testing.T) {
	t.Parallel()
	size := Size{Sales: sales, PerSale: orders(t) / sales}
	m := open(t, size, vary)
	for _, l := range lists(size.PerSale) {
		m.list(l)
	}
	for _, path := range []string{
		"/admin/payments.csv", "/admin/payments.csv?state=stuck", "/admin/payments.csv?state=refunded",
		"/admin/payments.csv?dispute=open", "/admin/payments.csv?voucherId=1",
		"/admin/payments.csv?to=2026-01-02T12:00:09Z",
		"/admin/audit.csv", "/admin/audit.csv?voucherId=1", "/admin/audit.csv?adminId=8",
		"/admin/voucher/1/orders.csv", "/admin/voucher/1/timeline.csv",
	} {
		m.export(path, "admin")
		m.export(path, "merchant")
	}
}

// open fills a ledger, changes it, and starts a server on it.
func open(t *testing.T, size Size, change func(context.Context, *sql.DB, Size) error) meter {
	t.Helper()
	// Its usual 64 MB would have a million orders filled in by reading pages again and again.
	db := testkit.StartMariaDB(t, "--innodb-buffer-pool-size=1G", "--innodb-log-file-size=256M")
	redis := testkit.StartRedis(t, "--appendonly", "yes")
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": redis.Addr, "SECKILL_MYSQL_DSN": db.DSN("seckill"), "SECKILL_JWT_SECRET": load.Secret,
		"SECKILL_USER_RATE": "0",
	}
	if out := box.Command(t, settings, "migrate"); out.Code != 0 {
		t.Fatalf("migrate: %+v", out)
	}
	ledger := box.OpenLedger(t, "mysql", db.DSN("seckill")).DB
	if err := Fill(t.Context(), ledger, size); err != nil {
		t.Fatal(err)
	}
	if err := change(t.Context(), ledger, size); err != nil {
		t.Fatal(err)
	}
	s := box.NewServer(t, "one", settings)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return meter{t: t, db: ledger, server: s, client: box.NewClient(t)}
}

// The tokens of the lists' readers. The merchant is of the shop that has a third of the sales.
func tokens() map[string]string {
	return map[string]string{
		"admin": load.Token(1, `,"role":"admin"`), "merchant": load.Token(77, `,"role":"merchant","shop":2`),
		"buyer": load.Token(1_010_000_007, ""),
	}
}

// orders returns how many orders the ledger has.
func orders(t *testing.T) int64 { return number(t, envOrders, 100_000) }

// number returns the number in an environment variable; without it, the default.
func number(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number from 1 on", name, text)
	}
	return n
}

// vary gives some orders and payments the states that are rare, and adds what admins did. In the sales of the other
// shops, a hundredth is refunded, a hundredth unpaid and a hundredth disputed: much in all, and nothing in the shop
// that is looked at.
func vary(ctx context.Context, db *sql.DB, size Size) error {
	for _, statement := range []string{
		"UPDATE tb_voucher_order SET status = 6 WHERE id % 100 = 1 AND voucher_id % 3 <> 1",
		`UPDATE tb_voucher_order SET status = 1, pay_deadline = '2100-01-01'
			WHERE id % 100 = 2 AND voucher_id % 3 <> 1`,
		"UPDATE tb_voucher_order SET status = 7 WHERE id % 1000 = 3",
		`UPDATE tb_payment SET state = 5, returned = amount, return_time = create_time
			WHERE number % 100 = 1 AND shop_id <> 2`,
		"UPDATE tb_payment SET state = 1 WHERE number % 100 = 2 AND shop_id <> 2",
		"UPDATE tb_payment SET state = 6, stuck_time = create_time WHERE number % 1000 = 3",
		"UPDATE tb_payment SET dispute = 1, disputed = amount WHERE number % 40 = 4 AND shop_id <> 2",
		"UPDATE tb_payment SET dispute = 3, disputed = amount WHERE number % 1000 = 5",
		fmt.Sprintf(`INSERT INTO tb_audit (voucher_id, admin_id, request_id, shop_id, action, changes, create_time)
			SELECT voucher_id, 7 + (id %% 10000 = 100), 'r', 1 + voucher_id %% 3, 'change', '[]', create_time
			FROM tb_voucher_order WHERE id %% 100 = 0 LIMIT %d`, size.Orders()),
		`INSERT INTO tb_webhook_endpoint (shop_id, url, types, secret, next_number, disabled_time, disabled_why,
			create_time) VALUES (2, 'https://shop.example/a', '', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 1,
			NOW(3), 'BY_ADMIN', NOW(3)), (2, 'https://shop.example/b', 'order.paid',
			'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 1, NOW(3), 'BY_ADMIN', NOW(3)), (2, 'https://shop.example/c',
			'order.redeemed', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 1, NOW(3), 'BY_ADMIN', NOW(3)),
			(0, 'https://shop.example/d', 'order.redeemed', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 1, NOW(3),
			'BY_ADMIN', NOW(3))`,
		`INSERT INTO tb_webhook_event (number, shop_id, subject, subject_number, type, body, create_time)
			SELECT number, shop_id, CONCAT('order-', order_id), 1, 'order.paid', '{}', NOW(3) FROM tb_payment`,
		"UPDATE tb_webhook_sequence SET number = (SELECT MAX(number) FROM tb_webhook_event)",
		`INSERT INTO tb_webhook_dead_letter (endpoint_id, number, attempts, failure, create_time)
			SELECT 1, number, 9, '{"code":"STATUS","status":500}', NOW(3) FROM tb_payment WHERE shop_id = 2`,
		`UPDATE tb_seckill_voucher SET invite_window = 60 WHERE voucher_id = 1`,
		`INSERT INTO tb_waiting_list (voucher_id, last_position, open) SELECT 1, COUNT(*), 1 FROM tb_voucher_order
			WHERE voucher_id = 1`,
		`INSERT INTO tb_place (voucher_id, position, user_id, state, create_time)
			SELECT 1, 1 + user_id % 10000000, user_id, 1, create_time FROM tb_voucher_order WHERE voucher_id = 1`,
		`INSERT INTO tb_draw (voucher_id, number, draw_key, key_hash, begin_time, delay_ms, close_time, create_time,
			closed_time, entries, root) SELECT 1, 1, REPEAT('k', 32), UNHEX(SHA2(REPEAT('k', 32), 256)), begin_time,
			1000, begin_time - INTERVAL 1 HOUR, begin_time - INTERVAL 1 DAY, begin_time - INTERVAL 1 HOUR, 0,
			REPEAT('r', 32) FROM tb_seckill_voucher WHERE voucher_id = 1`,
		fmt.Sprintf(`INSERT INTO tb_draw_entry (voucher_id, number, user_id, entry, hash)
			SELECT 1, 1, %d + seq, -seq, UNHEX(SHA2(seq, 256)) FROM seq_1_to_%d`, 1_000_000_000+perSaleIDs, entrants),
		`INSERT INTO tb_shop (id, name, create_time, update_time) SELECT n.seq, CONCAT('Shop ', n.seq), NOW(3), NOW(3)
			FROM seq_1_to_5000 n`,
		"ANALYZE TABLE tb_voucher_order, tb_payment, tb_audit, tb_webhook_event, tb_webhook_dead_letter, tb_place, " +
			"tb_draw_entry",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}

// meter counts what the database reads for an answer.
type meter struct {
	t      *testing.T
	db     *sql.DB
	server *box.Server
	client *box.Client
}

// list measures a list with all combinations of its filters, and logs the most that it reads with no filter, with each
// alone, and with any.
func (m meter) list(l list) {
	m.t.Helper()
	asked, worst := 0, map[string]int{}
	for _, role := range l.by {
		for _, q := range l.params.combinations() {
			if from, to := q.Get("from"), q.Get("to"); from != "" && to != "" && from >= to {
				continue
			}
			most := mostRead + l.more
			if amongDisputed(q) {
				most = math.MaxInt64
			}
			begin := time.Now()
			n := m.read(l.route+"?"+q.Encode(), tokens()[role], most)
			asked++
			filters := slices.DeleteFunc(slices.Sorted(maps.Keys(q)), func(s string) bool { return s == "limit" })
			names := []string{strings.Join(append(filters, role), ", "), "any"}
			switch {
			case amongDisputed(q):
				names = []string{"disputed and more"}
			case len(filters) > 1:
				names = names[1:]
			}
			for _, name := range names {
				worst[name] = max(worst[name], n)
			}
			if int64(n) > most {
				took := time.Since(begin).Round(time.Millisecond)
				m.t.Errorf("%7d rows, %v: %s?%s as %s", n, took, l.route, q.Encode(), role)
			}
		}
	}
	m.t.Logf("%s: %d combinations, at most %d rows; %v", l.route, asked, worst["any"], worst)
}

// export has a file be sent, and counts what is read for each line of it. As with lists, the least of some tries
// counts: the instance counts its dead letters now and then, and they are a third of the orders here.
func (m meter) export(path, role string) {
	m.t.Helper()
	n, lines := 0, 0
	for range 5 {
		n, lines = m.file(path, role)
		if n <= mostRead+4*lines {
			break
		}
	}
	m.t.Logf("%s as %s: %d rows for %d lines", path, role, n, lines)
	if n > mostRead+4*lines {
		m.t.Errorf("%s as %s: %d rows for %d lines", path, role, n, lines)
	}
}

// file has a file be sent, and returns how many index entries and rows were read meanwhile, and its lines.
func (m meter) file(path, role string) (n, lines int) {
	m.t.Helper()
	before := m.reads()
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, m.server.URL(path), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokens()[role])
	file, err := http.DefaultClient.Do(req) // without a timeout: a file takes as long as it is
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = file.Body.Close() }()
	body := bufio.NewScanner(file.Body)
	for body.Scan() {
		lines++
	}
	if body.Err() != nil || file.StatusCode != http.StatusOK {
		m.t.Fatalf("%s is answered %s, %v", path, file.Status, body.Err())
	}
	return m.reads() - before, lines
}

// amongDisputed reports whether a list is of disputed payments with more conditions than the shop's: all disputed ones
// are looked at, or all that fulfil the others, whichever are fewer.
func amongDisputed(q url.Values) bool {
	return q.Has("dispute") && q.Get("dispute") != "none" && (q.Has("state") || q.Has("voucherId"))
}

// read returns how many index entries and rows an answer costs. Background jobs read some, too, so the least of some
// tries counts, until it is at most what the answer may cost.
func (m meter) read(path, token string, most int64) (least int) {
	m.t.Helper()
	for try := range 20 {
		before := m.reads()
		m.client.Must(m.t, http.StatusOK, box.Request{Method: http.MethodGet, URL: m.server.URL(path), Token: token})
		n := m.reads() - before
		if try == 0 || n < least {
			least = n
		}
		if int64(least) <= most {
			break
		}
	}
	return least
}

// reads returns how many index entries and rows the database has read.
func (m meter) reads() (sum int) {
	m.t.Helper()
	rows, err := m.db.QueryContext(m.t.Context(), "SHOW GLOBAL STATUS LIKE 'Handler_read%'")
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			m.t.Fatal(err)
		}
		if name != "Handler_read_retry" && !strings.HasSuffix(name, "_deleted") {
			sum += n
		}
	}
	if err := rows.Err(); err != nil {
		m.t.Fatal(err)
	}
	return sum
}

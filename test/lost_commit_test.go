package test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	gocmp "github.com/google/go-cmp/cmp"

	"seckill/internal/order/payment"
	"seckill/internal/sandbox"
	"seckill/internal/testkit"
	"seckill/internal/testkit/contract"
	"seckill/internal/testkit/idp"
	"seckill/test/box"
)

// commitPacket is how a COMMIT looks on the wire: "READ COMMITTED" does not contain it.
const commitPacket = "\x03COMMIT"

// unknown is the answer to a change whose COMMIT was not answered.
const unknown = "504 UNKNOWN_OUTCOME"

// writesNothing are the changing routes that have no COMMIT of their own to lose, and why.
func writesNothing() map[string]string {
	return map[string]string{
		"POST /admin/webhook/{id}/test":      "a test event is sent, and not kept",
		"POST /demo/buyer":                   "the embedded mode's, which makes a token",
		"POST /demo/admin":                   "the embedded mode's, which makes a token",
		"POST /admin/deadletter/{id}/replay": "the entry goes back into Redis's stream",
	}
}

// lostCommits sends requests while the database's answers to COMMIT are lost.
type lostCommits struct {
	*shopper
	t     *testing.T
	proxy *testkit.Proxy
	seen  map[string]bool
	asked []askedRoute
	keys  int
}

// askedRoute is a request for a route, and the answers that it got without a fault.
type askedRoute struct {
	route, again string
	request      box.Request
}

// TestLostCommitOnEveryRoute loses the answers to COMMIT on every route that changes something (F59). The answer is 504
// or the true one, never that nothing was done. Repeated with its key, or where the route says that it can be repeated,
// the request does nothing twice.
func TestLostCommitOnEveryRoute(t *testing.T) {
	t.Parallel()
	w := newLostCommits(t)
	w.rehearsals()
	w.letters()
	w.vouchers()
	w.orders()
	w.coupons()
	w.stuck()
	w.parts()
	w.waitlist()
	w.others()
	w.draws()
	w.awayByClass()
	described, err := contract.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, o := range described.Operations() {
		if route := o.Method + " " + o.Path; o.Method != http.MethodGet && writesNothing()[route] == "" {
			want[route] = true
		}
	}
	if diff := gocmp.Diff(want, w.seen); diff != "" {
		t.Errorf("changing routes (-), and those that were tried (+):\n%s", diff)
	}
}

func newLostCommits(t *testing.T) *lostCommits {
	t.Helper()
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	through, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	proxy := testkit.NewProxy(t, through.Addr)
	through.Addr = proxy.Addr
	s := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	provider := idp.Start(t)
	s.Add(t, testkit.RedisAddr(t), through.FormatDSN(), map[string]string{
		"SECKILL_ISSUERS": provider.File(t, nil), "SECKILL_WEBHOOK_ALLOW": "127.0.0.0/8",
		"SECKILL_GUARD_SECRET": strings.Repeat("of the guards 7!", 2),
	})
	s.Start(t)
	w := &lostCommits{shopper: &shopper{Site: s, tb: t, user: 700}, t: t, proxy: proxy, seen: map[string]bool{}}
	// A sign-in reads the account that its lost COMMIT has made, and is answered truly.
	w.lose("POST /session", "201", "201", box.Request{
		URL: s.URL("/session"), Body: map[string]string{"token": provider.Token(t, "alice", nil)},
	})
	alice := signIn(t, s, 0, provider.Token(t, "alice", nil))
	if n := w.number("SELECT COUNT(*) FROM tb_account"); n != 1 {
		t.Errorf("%d accounts of one user", n)
	}
	w.lose("POST /session/end", unknown, "401 UNAUTHENTICATED", box.Request{
		URL: s.URL("/session/end"), Token: alice.Token,
	})
	return w
}

// lose sends a request while answers to COMMIT are lost, expects an answer, and then another to its repetition.
func (w *lostCommits) lose(route, want, again string, r box.Request) {
	w.t.Helper()
	w.seen[route] = true
	r.Method, _, _ = strings.Cut(route, " ")
	if r.Method == http.MethodPost && r.Header["Idempotency-Key"] == "" {
		w.keys++
		header := map[string]string{"Idempotency-Key": fmt.Sprint("key-", w.keys)}
		maps.Copy(header, r.Header)
		r.Header = header
	}
	send := func() string {
		w.t.Helper()
		got, err := w.Client.Do(w.t.Context(), r)
		if err != nil {
			w.t.Fatalf("%s: %v", route, err)
		}
		return strings.TrimSpace(fmt.Sprint(got.StatusCode, " ", got.Code))
	}
	w.proxy.DropRepliesTo(commitPacket, 1000)
	got := send()
	w.proxy.DropRepliesTo(commitPacket, 0)
	w.asked = append(w.asked, askedRoute{route, again, r})
	if got != want {
		w.t.Errorf("%s while COMMIT's answers are lost: %s, want %s", route, got, want)
	}
	box.Eventually(w.t, route+" again", func() error {
		if got = send(); got != again {
			return fmt.Errorf("it is answered %s, want %s", got, again)
		}
		return nil
	})
}

// as is a request with a token and perhaps a body.
func (w *lostCommits) as(token string, body any, path string, args ...any) box.Request {
	return box.Request{URL: w.URL(fmt.Sprintf(path, args...)), Token: token, Body: body}
}

// asAdmin is a request of an admin.
func (w *lostCommits) asAdmin(body any, path string, args ...any) box.Request {
	return w.as(box.AdminToken(), body, path, args...)
}

// number returns the one number that a query selects.
func (w *lostCommits) number(query string, args ...any) (n int64) {
	w.t.Helper()
	if err := w.Ledger.DB.QueryRowContext(w.t.Context(), query, args...).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// one expects a query to count one thing.
func (w *lostCommits) one(what, query string, args ...any) {
	w.t.Helper()
	if n := w.number("SELECT COUNT(*) FROM "+query, args...); n != 1 {
		w.t.Errorf("%s was done %d times", what, n)
	}
}

// rehearsals come first: no other sale may run.
func (w *lostCommits) rehearsals() {
	w.t.Helper()
	far := w.CreateWindow(w.t, 5, time.Now().Add(48*time.Hour), time.Now().Add(50*time.Hour))
	w.lose("POST /admin/voucher/{id}/rehearsal", unknown, "201", w.asAdmin(nil, "/admin/voucher/%d/rehearsal", far))
	w.one("starting a rehearsal", "tb_rehearsal")
	id := w.number("SELECT voucher_id FROM tb_rehearsal")
	report := map[string]any{
		"done": false, "buyers": 20, "arrived": 20, "requests": 19, "accepted": 19, "unclear": 0, "p50Micros": 12,
		"p99Micros": 80,
	}
	w.lose("POST /rehearsal/{id}/report", unknown, "200", w.as(box.CrowdToken(id), report, "/rehearsal/%d/report", id))
	w.lose("POST /admin/rehearsal/{id}/end", unknown, "200", w.asAdmin(nil, "/admin/rehearsal/%d/end", id))
}

// letters discards a dead letter whose order has no row.
func (w *lostCommits) letters() {
	w.t.Helper()
	b := w.Buyers(w.CreateSale(w.t, 3, time.Now().Add(time.Hour)))
	release := w.Ledger.LockSale(w.t, b.Voucher)
	b.BuyAll(w.t.Context(), 1, box.Users(601, 1))
	if err := w.Servers[0].Kill(); err != nil {
		w.t.Fatal(err)
	}
	release()
	letter := makeDeadLetter(w.t, w.Redis, 601)
	if err := w.Servers[0].Start(); err != nil {
		w.t.Fatal(err)
	}
	w.AwaitState(w.t, b.Voucher, "on_sale")
	w.lose("POST /admin/deadletter/{id}/discard", unknown, "200",
		w.asAdmin(map[string]string{"why": "it cannot be read"}, "/admin/deadletter/%s/discard", letter))
	w.one("failing its order", "tb_voucher_order WHERE user_id = 601")
}

// vouchers creates and changes vouchers, and calls a sale off.
func (w *lostCommits) vouchers() {
	w.t.Helper()
	draft := box.SeckillDraft(7, 10, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	draft["title"] = "lost"
	w.lose("POST /voucher/seckill", unknown, "201", w.asAdmin(draft, "/voucher/seckill"))
	w.one("creating a sale", "tb_voucher WHERE title = 'lost'")
	plain := map[string]any{"shopId": 7, "title": "plain", "payValue": 1, "actualValue": 2}
	w.lose("POST /voucher", unknown, "201", w.asAdmin(plain, "/voucher"))
	w.one("creating a voucher", "tb_voucher WHERE title = 'plain'")
	sale := w.number("SELECT id FROM tb_voucher WHERE title = 'lost'")
	w.AwaitState(w.t, sale, "on_sale")
	changes := func() int64 {
		return w.number("SELECT COUNT(*) FROM tb_audit WHERE voucher_id = ?", sale)
	}
	before := changes()
	for i, c := range []struct {
		route string
		body  any
	}{
		{"PATCH /voucher/{id}", map[string]any{"title": "found"}},
		{"POST /voucher/{id}/stock", map[string]any{"delta": 5}},
		{"POST /voucher/{id}/pause", nil},
		{"POST /voucher/{id}/resume", nil},
		{"POST /admin/voucher/{id}/call-off", map[string]any{"why": "the price was wrong"}},
		{"POST /voucher/{id}/archive", nil},
		{"POST /voucher/{id}/restore", nil},
	} {
		box.Eventually(w.t, "Redis having all changes", func() error { // until then it is not archived
			if n := w.number("SELECT COUNT(*) FROM tb_voucher_operation WHERE state = 1"); n > 0 {
				return fmt.Errorf("%d are pending", n)
			}
			return nil
		})
		_, path, _ := strings.Cut(c.route, " ")
		w.lose(c.route, unknown, "200", w.asAdmin(c.body, "%s", strings.ReplaceAll(path, "{id}", fmt.Sprint(sale))))
		if n := changes() - before; n != int64(i+1) {
			w.t.Errorf("after %s the audit trail has %d changes, want %d", c.route, n, i+1)
		}
	}
	ordinary := w.number("SELECT id FROM tb_voucher WHERE title = 'plain'")
	w.lose("POST /voucher/buy/{id}", unknown, "201", w.as(box.BuyerToken(611), nil, "/voucher/buy/%d", ordinary))
	w.one("buying", "tb_voucher_order WHERE user_id = 611")
}

// orders buys, pays, cancels and refunds.
func (w *lostCommits) orders() {
	w.t.Helper()
	sale := w.sale(20, nil)
	w.lose("POST /voucher/seckill/{id}", "202", "409 ALREADY_BOUGHT",
		w.as(box.BuyerToken(621), nil, "/voucher/seckill/%d", sale))
	w.lose("POST /voucher-order/seckill/{id}", "200", "200 ALREADY_BOUGHT",
		w.as(box.BuyerToken(622), nil, "/voucher-order/seckill/%d", sale))
	box.Eventually(w.t, "the rows of both", func() error {
		if n := w.number("SELECT COUNT(*) FROM tb_voucher_order WHERE user_id IN (621, 622)"); n != 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	cancelled := w.buy(sale, 623)
	w.lose("POST /order/{id}/cancel", unknown, "200", w.as(box.BuyerToken(623), nil, "/order/%s/cancel", cancelled))
	w.one("cancelling", "tb_voucher_operation WHERE order_id = ?", cancelled)
	byStaff := w.buy(sale, 624)
	why := map[string]string{"why": "closed"}
	w.lose("POST /admin/order/{id}/cancel", unknown, "200", w.asAdmin(why, "/admin/order/%s/cancel", byStaff))
	w.one("cancelling for staff", "tb_voucher_operation WHERE order_id = ?", byStaff)

	paid := map[string]string{}
	for i, how := range []string{
		"POST /sandbox/pay/{ticket}", "POST /payment/callback", "POST /payment/callback/{provider}",
	} {
		w.user = int64(625 + i)
		order := w.buy(sale, w.user)
		if i == 0 {
			w.lose("POST /order/{id}/pay", unknown, "200", w.as(box.BuyerToken(w.user), nil, "/order/%s/pay", order))
			w.one("beginning to pay", "tb_payment WHERE order_id = ?", order)
		}
		payURL := w.beginPayment(order)
		if i == 0 { // the page asks the service as a provider does
			w.lose(how, "502", "200", box.Request{URL: w.URL(payURL)})
		} else {
			path := strings.ReplaceAll(strings.TrimPrefix(how, "POST "), "{provider}", "sandbox")
			w.lose(how, unknown, "200", w.notice(order, path))
		}
		w.awaitStatus(order, "paid")
		paid[how] = order
	}
	w.user = 626
	order := paid["POST /payment/callback"]
	w.lose("POST /order/{id}/refund", unknown, "200", w.as(box.BuyerToken(626), nil, "/order/%s/refund", order))
	w.awaitStatus(order, "refunded")
	w.one("refunding", "tb_voucher_operation WHERE order_id = ?", order)
	w.user = 627
	order = paid["POST /payment/callback/{provider}"]
	w.lose("POST /admin/order/{id}/refund", unknown, "200", w.asAdmin(why, "/admin/order/%s/refund", order))
	w.awaitStatus(order, "refunded")
	w.one("refunding for staff", "tb_voucher_operation WHERE order_id = ?", order)
}

// notice is the provider's message that an order's payment has its money.
func (w *lostCommits) notice(order, path string) box.Request {
	w.t.Helper()
	return paidNotice(w.t, w.URL(path), paymentOf(w.t, w.Site, order))
}

// paymentOf returns the payment of an order.
func paymentOf(tb testing.TB, s *box.Site, order string) (id string) {
	tb.Helper()
	if err := s.Ledger.DB.QueryRowContext(tb.Context(), "SELECT id FROM tb_payment WHERE order_id = ?",
		order).Scan(&id); err != nil {
		tb.Fatal(err)
	}
	return id
}

// paidNotice is the sandbox's message to an address that a payment has its money.
func paidNotice(tb testing.TB, url, paymentID string) box.Request {
	tb.Helper()
	notices, err := sandbox.NewNotices([]byte(box.Secret), time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	body, signature, err := notices.Write(payment.Notice{PaymentID: paymentID, Amount: 1000})
	if err != nil {
		tb.Fatal(err)
	}
	return box.Request{URL: url, Body: body, Header: map[string]string{
		sandbox.SignatureHeader: signature, "Idempotency-Key": "a provider's",
	}}
}

// paid buys and pays for a user, and returns the order.
func (w *lostCommits) paid(sale, user int64) string {
	w.t.Helper()
	w.user = user
	order := w.buy(sale, user)
	w.pay(w.beginPayment(order))
	w.awaitStatus(order, "paid")
	return order
}

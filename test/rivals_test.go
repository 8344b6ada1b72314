package test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// rivalry is shop 7 with all that a shop may have, on a service on which shop 8 has a merchant, too.
type rivalry struct {
	*shopSite

	rival             string // the token of shop 8's merchant
	sale, free, ended int64  // vouchers
	order, payment    string // an unpaid order and its payment
	taken, code       string // a paid order and the code of its coupon
	template, webhook int64
	cursor            string // of the stream of events, as the owner has it
	secrets           []string
	rivalSale         int64 // shop 8 has it
}

// zq marks what is shop 7's. The buyers have numbers that stand nowhere else.
const (
	zq         = "Zq"
	unpaidUser = 424_242_001
	paidUser   = 424_242_002
	laterUser  = 424_242_003
)

func newRivalry(t *testing.T) *rivalry {
	t.Helper()
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	s := &rivalry{shopSite: &shopSite{Site: box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)}}
	s.Add(t, testkit.RedisAddr(t), dsn, map[string]string{
		"SECKILL_JWT_ADMIN_SECRET": adminSecret, "SECKILL_PICTURE_HOSTS": "img.shop.example",
		"SECKILL_EVENT_KEEP": "1h",
	})
	s.Start(t)
	merchant := func(user, shop int64) string {
		claims := box.Claims(user, "merchant")
		claims["shop"] = shop
		return box.Sign(adminSecret, claims)
	}
	s.admin = box.Sign(adminSecret, box.Claims(box.AdminID, "admin"))
	s.owner, s.rival = merchant(71, 7), merchant(81, 8)
	must := func(method, path, token string, body any) box.Reply {
		t.Helper()
		r, outcome := s.ask(t, 0, method, path, token, body, nil)
		if r.StatusCode >= http.StatusMultipleChoices {
			t.Fatalf("%s %s: %s", method, path, outcome)
		}
		return r
	}
	now := time.Now()
	create := func(token string, shop, price int64) int64 {
		t.Helper()
		draft := box.SeckillDraft(shop, 5, now.Add(-time.Minute), now.Add(time.Hour))
		draft["title"], draft["payValue"], draft["picture"] = zq+" tea", price, "https://img.shop.example/"+zq
		if token == s.rival {
			draft["title"], draft["picture"] = "Coffee", ""
		}
		return box.Decode[box.Voucher](t, must(http.MethodPost, "/voucher/seckill", token, draft)).ID
	}
	s.sale, s.free, s.ended = create(s.owner, 7, 1000), create(s.owner, 7, 0), create(s.owner, 7, 0)
	s.rivalSale = create(s.rival, 8, 1000)
	must(http.MethodPatch, "/admin/shop/7", s.owner,
		map[string]any{"name": zq + " bakery", "picture": "https://img.shop.example/" + zq})
	must(http.MethodPatch, "/admin/shop/7", s.admin, map[string]any{"maxSales": 50, "maxUnits": 500})
	must(http.MethodPatch, "/admin/shop/8", s.rival, map[string]any{"name": "Cafe"})
	must(http.MethodPatch, "/admin/shop/8", s.admin, map[string]any{"maxSales": 1, "maxUnits": 5})
	s.template = box.Decode[named](t, must(http.MethodPost, "/admin/template", s.owner,
		map[string]any{"voucherId": s.sale, "name": zq})).ID
	s.webhook = box.Decode[named](t, must(http.MethodPost, "/admin/webhook", s.owner, map[string]any{
		"shopId": 7, "url": "https://shop.example/" + zq, "disabled": true,
	})).ID
	must(http.MethodPost, fmt.Sprintf("/voucher/%d/pause", s.ended), s.owner, nil)
	buy := func(user, sale int64, want string) string {
		t.Helper()
		var id string
		box.Eventually(t, "an order", func() error {
			r, outcome := s.ask(t, 0, http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=5s", sale),
				box.BuyerToken(user), nil, nil)
			if placed := box.Decode[struct{ OrderID, Status string }](t, r); placed.Status == want {
				id = placed.OrderID
				return nil
			}
			return fmt.Errorf("%s: %s", outcome, r.Body)
		})
		return id
	}
	s.order, s.taken = buy(unpaidUser, s.sale, "unpaid"), buy(paidUser, s.free, "paid")
	s.payment = box.Decode[struct{ PaymentID string }](t, must(http.MethodPost, "/order/"+s.order+"/pay",
		box.BuyerToken(unpaidUser), nil)).PaymentID
	s.code = box.Decode[struct{ Coupon struct{ Code string } }](t, s.Client.Whole(t, box.Request{
		URL: s.URL("/order/" + s.taken), Token: box.BuyerToken(paidUser),
	})).Coupon.Code
	for _, token := range []string{s.rival, s.owner} {
		box.Eventually(t, "events", func() error {
			if _, outcome := s.ask(t, 0, http.MethodGet, "/admin/event?before=end", token, nil, nil); outcome != "200" {
				return errors.New(outcome)
			}
			return nil
		})
	}
	s.cursor = must(http.MethodGet, "/admin/event?after=end", s.owner, nil).Next
	later := buy(laterUser, s.free, "paid") // behind the cursor
	box.Eventually(t, "the event of it", func() error {
		if r := must(http.MethodGet, "/admin/event?after="+s.cursor, s.owner, nil); !strings.Contains(
			string(r.Body), later) {
			return errors.New(string(r.Body))
		}
		return nil
	})
	s.secrets = []string{zq, s.order, s.taken, later, s.payment, s.code, fmt.Sprint(unpaidUser), fmt.Sprint(paidUser)}
	return s
}

// state returns what no attack may change: checksums of the tables that people's requests write.
func (s *rivalry) state(t *testing.T) string {
	t.Helper()
	rows, err := s.Ledger.DB.QueryContext(t.Context(), "CHECKSUM TABLE tb_shop, tb_voucher, tb_voucher_order, "+
		"tb_order_event, tb_payment, tb_refund, tb_voucher_operation, tb_coupon, tb_voucher_template, "+
		"tb_webhook_endpoint, tb_webhook_dead_letter, tb_waiting_list, tb_rehearsal, tb_audit")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all strings.Builder
	for rows.Next() {
		var table, sum string
		if err := rows.Scan(&table, &sum); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&all, table, sum)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A merchant attacks another's shop over every route by which shops, searches, refusals, events and several rows are
// served. Each attack is refused, or finds nothing, and changes nothing.
func TestRivals(t *testing.T) {
	t.Parallel()
	s := newRivalry(t)
	const (
		none, forbidden = "404 NOT_FOUND", "403 FORBIDDEN"
		nothing         = "200" // an answer without anything that is shop 7's
		mine            = "/admin/shop/8"
	)
	type body = map[string]any
	sale, free, ended := fmt.Sprint(s.sale), fmt.Sprint(s.free), fmt.Sprint(s.ended)
	why := body{"why": "mine now"}
	draft := box.SeckillDraft(7, 5, time.Now().Add(time.Hour), time.Now().Add(2*time.Hour))
	ordinary := body{"shopId": 7, "title": "x", "payValue": 1, "actualValue": 2}
	attacks := []struct {
		method, path string
		body         any
		want         string
	}{
		{"GET", "/admin/shop/7", nil, none},
		{"GET", "/admin/shop/%37", nil, none},
		{"GET", "/admin/shop", nil, forbidden},
		{"GET", "/admin/shop?before=8&limit=1", nil, forbidden},
		{"PATCH", "/admin/shop/7", body{"name": "Taken over"}, none},
		{"PATCH", "/admin/shop/7", body{"picture": "https://img.shop.example/8.png"}, none},
		{"PATCH", "/admin/shop/7", body{"picture": ""}, none},
		{"PATCH", "/admin/shop/7", body{"maxSales": 0, "maxUnits": 0}, none},
		{"PATCH", "/admin/shop/7", body{}, none},
		{"PATCH", "/admin/shop/9", body{"name": "Nobody's"}, none},
		{"PATCH", mine, body{"id": 7, "name": "Taken over"}, "400 INVALID id:IMMUTABLE"},
		{"PATCH", mine, body{"maxSales": 50, "maxUnits": 500}, "400 INVALID maxSales:FOR_ADMINS maxUnits:FOR_ADMINS"},

		{"GET", "/admin/search?q=" + zq, nil, nothing},
		{"GET", "/admin/search?q=bakery", nil, nothing},
		{"GET", "/admin/search?q=tea", nil, nothing},
		{"GET", "/admin/search?q=7", nil, nothing},
		{"GET", "/admin/search?q=%237", nil, nothing},
		{"GET", "/admin/search?q=" + sale, nil, nothing},
		{"GET", "/admin/search?q=" + s.order, nil, nothing},
		{"GET", "/admin/search?q=" + s.payment, nil, nothing},
		{"GET", fmt.Sprint("/admin/search?q=", unpaidUser), nil, nothing},
		{"GET", "/admin/search code", nil, nothing}, // in the header
		{"GET", "/admin/search?q=tea&shopId=7", nil, "400 INVALID shopId:UNKNOWN"},

		{"GET", fmt.Sprintf("/admin/voucher/%s/refusals?userId=%d", sale, unpaidUser), nil, none},
		{"GET", fmt.Sprintf("/admin/voucher/%s/refusals?userId=%d", free, 1), nil, none},
		{"GET", "/admin/voucher/" + sale + "/report", nil, none},
		{"GET", "/voucher/" + sale + "/mine", nil, nothing}, // of the rival as a buyer

		{"GET", "/admin/event?before=end&limit=100", nil, nothing},
		{"GET", "/admin/event?before=end&limit=100&type=order.unpaid,order.paid", nil, nothing},
		{"GET", "/admin/event?limit=100&after=" + s.cursor, nil, nothing},
		{"GET", "/admin/event?limit=100&before=" + s.cursor, nil, nothing},
		{"GET", fmt.Sprintf("/admin/webhook/%d/delivery", s.webhook), nil, none},
		{"POST", fmt.Sprintf("/admin/webhook/%d/replay", s.webhook), body{"eventId": "order-" + s.order + "-1"}, none},

		{"POST", "/admin/order/" + s.order + "/cancel", why, none},
		{"POST", "/admin/order/" + s.taken + "/cancel", why, none},
		{"POST", "/admin/order/" + s.order + "/refund", why, none},
		{"POST", "/admin/order/" + s.taken + "/refund", why, none},
		{"POST", "/admin/payment/" + s.payment + "/refund", body{"amount": 1, "why": "mine now"}, none},
		{"POST", "/admin/payment/" + s.payment + "/retry", why, none},
		{"POST", "/admin/payment/" + s.payment + "/close", why, none},
		{"POST", "/voucher/" + ended + "/archive", nil, none},
		{"POST", "/voucher/" + ended + "/restore", nil, none},
		{"POST", "/voucher/" + ended + "/resume", nil, none},
		{"POST", "/admin/voucher/" + sale + "/call-off", why, none},

		{"PATCH", "/voucher/" + sale, body{"title": "Taken over"}, none},
		{"PATCH", "/voucher/" + sale, body{"picture": "https://img.shop.example/8.png"}, none},
		{"POST", "/voucher/seckill", draft, none},
		{"POST", "/voucher", ordinary, none},
		{"POST", "/admin/template", body{"voucherId": s.sale, "name": "Stolen"}, none},
		{"DELETE", fmt.Sprint("/admin/template/", s.template), nil, none},
		{"GET", "/admin/order?shopId=7", nil, none},
		{"GET", "/admin/payment?shopId=7", nil, none},
		{"GET", "/admin/voucher?shopId=7", nil, none},
		{"GET", "/admin/audit?voucherId=" + sale, nil, nothing},

		// Shop 8's own bound of one sale holds its merchant.
		{
			"POST", "/voucher/seckill",
			box.SeckillDraft(8, 5, time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)), "409 SHOP_LIMIT",
		},
	}
	before := s.state(t)
	for i, attack := range attacks {
		path, inHeader := strings.CutSuffix(attack.path, " code")
		header := map[string]string{"Idempotency-Key": fmt.Sprint("rival-", i)}
		if inHeader {
			header["Coupon-Code"] = s.code
		}
		if !strings.HasPrefix(attack.method, "P") {
			delete(header, "Idempotency-Key")
		}
		r, got := s.ask(t, 0, attack.method, path, s.rival, attack.body, header)
		if got != attack.want {
			t.Errorf("%s %s %v: %s, want %s", attack.method, attack.path, attack.body, got, attack.want)
		}
		for _, secret := range s.secrets {
			if strings.Contains(string(r.Body), secret) {
				t.Errorf("%s %s shows %s: %s", attack.method, attack.path, secret, r.Body)
			}
		}
		if after := s.state(t); after != before {
			t.Errorf("%s %s %v changed the ledger from\n%sto\n%s", attack.method, attack.path, attack.body,
				before, after)
			before = after
		}
	}
	t.Logf("%d attacks", len(attacks))
	// The owner gets what the rival was refused: the attacks were not just malformed.
	for _, path := range []string{
		"/admin/shop/7", "/admin/search?q=" + zq, "/admin/search?q=bakery", "/admin/search?q=7",
		"/admin/search?q=" + s.order, "/admin/search?q=" + s.payment,
		fmt.Sprintf("/admin/voucher/%s/refusals?userId=%d", sale, unpaidUser),
		"/admin/event?before=end&limit=100", "/admin/order?shopId=7", "/admin/payment?shopId=7",
	} {
		r, got := s.ask(t, 0, http.MethodGet, path, s.owner, nil, nil)
		shown := false
		for _, secret := range s.secrets {
			shown = shown || strings.Contains(string(r.Body), secret)
		}
		if got != "200" || !shown {
			t.Errorf("the owner's %s: %s %s", path, got, r.Body)
		}
	}
}

package test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/features"
	"seckill/internal/testkit"
	"seckill/internal/testkit/child"
	"seckill/test/box"
)

// TestWithoutFeatures builds the server as if all features and their list entries were gone. It sells, is paid,
// refunds, expires and rebuilds; the features' routes do not exist, and their tables stay empty.
func TestWithoutFeatures(t *testing.T) {
	t.Parallel()
	s := bareSite(t)
	for name, test := range map[string]func(*testing.T, *shopper){
		"paid and refunded":           paidAndRefunded,
		"expired, and paid late":      paidLate,
		"sold out, and on sale again": soldOutAndBack,
		"units added and removed":     stockChanged,
		"ordinary vouchers":           ordinaryVouchers,
	} {
		t.Run(name, func(t *testing.T) { // not parallel: the rebuild below covers these sales as well
			test(t, &shopper{Site: s, tb: t, user: int64(1_000_000 + 1000*len(name))})
		})
	}

	const units, first = 200, 50
	b := s.Buyers(s.CreateSale(t, units, time.Now().Add(time.Hour)))
	b.BuyAll(t.Context(), 50, box.Users(1, first))
	s.Check(t, b, units)
	if err := s.Redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	b.BuyAll(t.Context(), 50, box.Users(1, first+2*(units-first)))
	if e := s.Check(t, b, units); e.Live() != units {
		t.Errorf("%d units sold after a rebuild, want all %d", e.Live(), units)
	}

	refuses(t, s, `"guards":{"conditions":{"minLevel":2}}`, "NEEDS_GUARDS")
	refuses(t, s, `"redeemable":true`, "NEEDS_REDEMPTION")
	console := s.Client.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: s.URL("/admin")})
	if !strings.Contains(string(console.Body), `<meta name="redeems" content="no">`) {
		t.Error("the console's form offers codes")
	}
	for _, path := range []string{
		"/admin/template", "/admin/shop", "/shop/1", "/admin/sale", "/admin/webhook",
		fmt.Sprintf("/admin/voucher/%d/rehearsal", b.Voucher),
		"/till/validate", "/till/reserve", "/till/redeem", "/till/release",
	} {
		if status := statusOf(t, s.URL(path)); status != http.StatusNotFound {
			t.Errorf("GET %s answers %d, want 404", path, status)
		}
	}
	for _, table := range []string{
		"tb_voucher_template", "tb_rehearsal", "tb_webhook_endpoint", "tb_webhook_event", "tb_coupon",
		"tb_setting WHERE name LIKE 'coupon_key%'",
	} {
		var rows int64
		if err := s.Ledger.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&rows); err != nil ||
			rows > 0 {
			t.Errorf("%s has %d rows, %v", table, rows, err)
		}
	}
}

// refuses checks that a sale with a field that needs a feature is refused, with the reason.
func refuses(t *testing.T, s *box.Site, field, reason string) {
	t.Helper()
	begin := time.Now().Add(time.Hour).UTC()
	body := fmt.Sprintf(`{"shopId":1,"title":"refused","payValue":100,"actualValue":1000,"stock":5,"beginTime":%q,`+
		`"endTime":%q,%s}`, begin.Format(time.RFC3339), begin.Add(time.Hour).Format(time.RFC3339), field)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("/voucher/seckill"),
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+box.AdminToken())
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // the body was read
	if err != nil || res.StatusCode != http.StatusBadRequest || !strings.Contains(string(answer), reason) {
		t.Errorf("a sale with %s is answered %d %s, %v", field, res.StatusCode, answer, err)
	}
}

// statusOf sends an admin's request. It bypasses the description, which does not cover a service without the feature.
func statusOf(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+box.AdminToken())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // only the status matters
	return res.StatusCode
}

// bareSite starts an instance without features on its own stores.
func bareSite(t *testing.T) *box.Site {
	t.Helper()
	own, dsn := testkit.StartRedis(t), testkit.MySQL(t)
	s := box.EmptySite(t, own.Addr, "", dsn)
	s.Add(t, own.Addr, dsn, nil)
	s.Servers[0].Binary = box.Without(t, box.Features()...)
	s.Start(t)
	return s
}

// TestNothingElseLinksFeatures checks that only the list links features.
func TestNothingElseLinksFeatures(t *testing.T) {
	t.Parallel()
	root, err := child.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := box.WithoutOverlay(root, t.TempDir(), box.Features()...)
	if err != nil {
		t.Fatal(err)
	}
	linked, err := box.Linked(t.Context(), root, overlay)
	if err != nil || !slices.Contains(linked, "seckill/internal/features") {
		t.Fatalf("%v, %v", linked, err)
	}
	for _, p := range linked {
		if strings.HasPrefix(p, "seckill/internal/feature/") {
			t.Errorf("the server links %s without its line in the list", p)
		}
	}
	for _, f := range features.List() {
		if f.Name == "" {
			t.Errorf("a feature without a name: %+v", f)
		}
	}
}

package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// shopSite is a service whose shops are named and bounded, with tokens of everybody.
type shopSite struct {
	*box.Site

	admin, owner, other, till string
}

// staffShop is a shop as staff see it.
type staffShop struct {
	ID                 int64
	Name               string
	MaxSales, MaxUnits int64
	Limits             struct{ MaxSales, MaxUnits int64 }
}

func newShopSite(t *testing.T) *shopSite {
	t.Helper()
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	s := &shopSite{Site: box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)}
	for range 2 { // instances: a change on one holds on the other
		s.Add(t, testkit.RedisAddr(t), dsn, map[string]string{
			"SECKILL_JWT_ADMIN_SECRET": adminSecret, "SECKILL_MERCHANT_SALES": "3", "SECKILL_MERCHANT_UNITS": "100",
		})
	}
	s.Start(t)
	token := func(role string, shop int64) string {
		claims := box.Claims(box.AdminID, role)
		if shop != 0 {
			claims["shop"] = shop
		}
		return box.Sign(adminSecret, claims)
	}
	s.admin, s.owner, s.other, s.till = token("admin", 0), token("merchant", 7), token("merchant", 8), token("till", 7)
	return s
}

// ask sends a request to an instance, and returns its answer with its outcome: status, code, and the fields that are
// wrong.
func (s *shopSite) ask(
	t *testing.T, instance int, method, path, token string, body any, header map[string]string,
) (r box.Reply, outcome string) {
	t.Helper()
	r = s.Client.Patient(t, box.Request{
		Method: method, URL: s.Servers[instance].URL(path), Token: token, Body: body, Header: header,
	})
	outcome = strings.TrimSpace(fmt.Sprintf("%d %s", r.StatusCode, r.Code))
	var wrong struct {
		Errors []struct{ Field, Code string }
	}
	if err := json.Unmarshal(r.Body, &wrong); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, r.Body)
	}
	for _, e := range wrong.Errors {
		outcome += " " + e.Field + ":" + e.Code
	}
	return r, outcome
}

// Everybody reads the name of any number; staff name and bound their shops, strictly, and merchants their own alone.
func TestShops(t *testing.T) {
	t.Parallel()
	s := newShopSite(t)
	named := func(instance int, shop int64, language, want string) {
		t.Helper()
		r, outcome := s.ask(t, instance, http.MethodGet, fmt.Sprint("/shop/", shop), "", nil,
			map[string]string{"Accept-Language": language})
		got := box.Decode[staffShop](t, r)
		if outcome != "200" || got.Name != want || got.ID != shop || r.Header.Get("Content-Language") != language ||
			r.Header.Get("Cache-Control") != "public, max-age=10" || !strings.Contains(
			strings.Join(r.Header.Values("Vary"), ","), "Accept-Language") {
			t.Errorf("shop %d in %s: %s %+v, %v; want %q", shop, language, outcome, got, r.Header, want)
		}
	}
	named(0, 7, "en", "Shop 7")
	named(0, 7, "zh", "店铺 7")
	named(0, 9, "zh", "店铺 9")

	type body = map[string]any
	for _, tc := range []struct {
		what, token string
		shop        int64
		body        any
		want        string
	}{
		{"nobody", "", 7, body{"name": "x"}, "401 UNAUTHENTICATED"},
		{"a buyer", box.BuyerToken(5), 7, body{"name": "x"}, "403 FORBIDDEN"},
		{"a till", s.till, 7, body{"name": "x"}, "403 FORBIDDEN"},
		{"another shop's merchant", s.other, 7, body{"name": "x"}, "404 NOT_FOUND"},
		{"the merchant elsewhere", s.owner, 8, body{"name": "x"}, "404 NOT_FOUND"},
		{
			"bounds by the merchant", s.owner, 7,
			body{"maxSales": 100, "maxUnits": 0},
			"400 INVALID maxSales:FOR_ADMINS maxUnits:FOR_ADMINS",
		},
		{"an unknown member", s.admin, 7, body{"title": "x"}, "400 INVALID title:UNKNOWN"},
		{"the number", s.owner, 7, body{"id": 8}, "400 INVALID id:IMMUTABLE"},
		{"a wrong type", s.admin, 7, body{"name": 7, "maxSales": "7"}, "400 INVALID maxSales:JSON_TYPE name:JSON_TYPE"},
		{"no name", s.owner, 7, body{"name": " \u3000 "}, "400 INVALID name:BLANK"},
		{"a long name", s.owner, 7, body{"name": strings.Repeat("茶", 65)}, "400 INVALID name:CHARACTERS"},
		{"two lines", s.owner, 7, body{"name": "a\nb"}, "400 INVALID name:CHARACTERS"},
		{
			"beyond the settings", s.admin, 7,
			body{"maxSales": 4, "maxUnits": 101},
			"400 INVALID maxSales:OUT_OF_RANGE maxUnits:OUT_OF_RANGE",
		},
		{"no number", s.admin, 0, body{"name": "x"}, "400 INVALID id:MALFORMED"},
		{"nothing", s.owner, 7, body{}, "200"},
		{"a name", s.owner, 7, body{"name": "  茶馆 & <b>Bar</b> "}, "200"},
		{"bounds", s.admin, 7, body{"maxSales": 2, "maxUnits": 10}, "200"},
		{"another's name", s.admin, 8, body{"name": "Bakery"}, "200"},
	} {
		if _, got := s.ask(t, 0, http.MethodPatch, fmt.Sprint("/admin/shop/", tc.shop), tc.token, tc.body,
			nil); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.what, got, tc.want)
		}
	}
	const name = "茶馆 & <b>Bar</b>"
	named(0, 7, "en", name)
	named(1, 7, "zh", name) // this instance is asked for it for the first time

	want := staffShop{ID: 7, Name: name, MaxSales: 2, MaxUnits: 10}
	want.Limits.MaxSales, want.Limits.MaxUnits = 3, 100
	for who, token := range map[string]string{"an admin": s.admin, "the merchant": s.owner} {
		r, outcome := s.ask(t, 1, http.MethodGet, "/admin/shop/7", token, nil, nil)
		if got := box.Decode[staffShop](t, r); outcome != "200" || got != want {
			t.Errorf("%s: %s %+v, want %+v", who, outcome, got, want)
		}
	}
	for what, tc := range map[string]struct{ path, token, want string }{
		"all, for an admin":         {"/admin/shop", s.admin, "200"},
		"all, for a merchant":       {"/admin/shop", s.owner, "403 FORBIDDEN"},
		"another's, for a merchant": {"/admin/shop/8", s.owner, "404 NOT_FOUND"},
		"one, for a till":           {"/admin/shop/7", s.till, "403 FORBIDDEN"},
		"one, for a buyer":          {"/admin/shop/7", box.BuyerToken(5), "403 FORBIDDEN"},
	} {
		if _, got := s.ask(t, 0, http.MethodGet, tc.path, tc.token, nil, nil); got != tc.want {
			t.Errorf("%s: %s, want %s", what, got, tc.want)
		}
	}
	r, _ := s.ask(t, 0, http.MethodGet, "/admin/shop?limit=1", s.admin, nil, nil)
	if page := box.Decode[[]staffShop](t, r); len(page) != 1 || page[0].ID != 8 || r.Next != "8" {
		t.Errorf("the first page is %+v, next %q", page, r.Next)
	}
	s.checkNames(t, name)
	s.checkBounds(t)
}

// checkNames checks that lists and files have the shop's name, and the audit trail who gave it.
func (s *shopSite) checkNames(t *testing.T, name string) {
	t.Helper()
	now := time.Now()
	draft := box.SeckillDraft(7, 5, now.Add(-time.Minute), now.Add(time.Hour))
	draft["title"] = "Tea for two"
	r, outcome := s.ask(t, 0, http.MethodPost, "/voucher/seckill", s.owner, draft, nil)
	if outcome != "201" {
		t.Fatalf("a sale: %s", outcome)
	}
	id := box.Decode[box.Voucher](t, r).ID
	type line struct{ ShopName string }
	first := func(path string) string {
		t.Helper()
		r, outcome := s.ask(t, 1, http.MethodGet, path, s.owner, nil, nil)
		if outcome != "200" {
			t.Fatalf("%s: %s", path, outcome)
		}
		switch path {
		case "/admin/sale":
			if found := box.Decode[struct{ Sales []line }](t, r).Sales; len(found) > 0 {
				return found[0].ShopName
			}
		case "/admin/search?q=Tea":
			if found := box.Decode[struct{ Hits []line }](t, r).Hits; len(found) > 0 {
				return found[0].ShopName
			}
		case fmt.Sprintf("/admin/voucher/%d/report", id):
			return box.Decode[line](t, r).ShopName
		default:
			if found := box.Decode[[]line](t, r); len(found) > 0 {
				return found[0].ShopName
			}
		}
		return "nothing"
	}
	for _, path := range []string{
		"/admin/voucher", "/admin/sale", "/admin/search?q=Tea", "/admin/audit",
		fmt.Sprintf("/admin/voucher/%d/report", id),
	} {
		if got := first(path); got != name {
			t.Errorf("%s names the shop %q, want %q", path, got, name)
		}
	}
	r, _ = s.ask(t, 0, http.MethodGet, "/admin/audit", s.owner, nil, nil)
	for _, part := range []string{`"field":"shopName","from":"","to":"茶馆`, `"field":"maxUnits","from":"","to":"10"`} {
		if !strings.Contains(string(r.Body), part) {
			t.Errorf("the merchant's audit trail has no %s: %s", part, r.Body)
		}
	}
	if strings.Contains(string(r.Body), "Bakery") {
		t.Errorf("the merchant's audit trail has another shop: %s", r.Body)
	}
}

// checkBounds checks that a shop's bounds hold without a restart, on both instances, and no admin.
func (s *shopSite) checkBounds(t *testing.T) {
	t.Helper()
	now := time.Now()
	create := func(instance int, token string, units int64) string {
		t.Helper()
		_, outcome := s.ask(t, instance, http.MethodPost, "/voucher/seckill", token,
			box.SeckillDraft(7, units, now.Add(time.Hour), now.Add(2*time.Hour)), nil)
		return outcome
	}
	bound := func(body map[string]any) {
		t.Helper()
		if _, outcome := s.ask(t, 0, http.MethodPatch, "/admin/shop/7", s.admin, body, nil); outcome != "200" {
			t.Fatalf("%v: %s", body, outcome)
		}
	}
	for _, step := range []struct {
		what     string
		instance int
		token    string
		units    int64
		want     string
	}{
		{"more units than the shop may", 1, s.owner, 11, "409 SHOP_LIMIT"},
		{"as many", 1, s.owner, 10, "201"},
		{"a third sale of two", 0, s.owner, 1, "409 SHOP_LIMIT"},
		{"an admin's", 1, s.admin, 1000, "201"},
	} {
		if got := create(step.instance, step.token, step.units); got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
	}
	bound(map[string]any{"maxSales": 0, "maxUnits": 0})
	if got := create(1, s.owner, 50); got != "409 SHOP_LIMIT" {
		t.Errorf("a fourth sale, of the setting's three: %s", got)
	}
}

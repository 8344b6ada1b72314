package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// pictured is a shop or a voucher with its picture.
type pictured struct {
	ID      int64
	Picture string
}

// Pictures are taken from the hosts of a setting alone, and pages load them from there; without it none is taken, but
// one of before can be removed.
func TestPictures(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	s := &shopSite{Site: box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)}
	for _, hosts := range []string{"img.shop.example,cdn.example:8443", ""} { // an instance with, and one without
		s.Add(t, testkit.RedisAddr(t), dsn, map[string]string{
			"SECKILL_JWT_ADMIN_SECRET": adminSecret, "SECKILL_PICTURE_HOSTS": hosts,
		})
	}
	s.Start(t)
	claims := box.Claims(box.AdminID, "merchant")
	claims["shop"] = 7
	s.owner = box.Sign(adminSecret, claims)
	const with, without = 0, 1

	const ofShop, ofSale, later = "https://img.shop.example/7.png", "https://img.shop.example/tea.jpg?w=640",
		"https://cdn.example:8443/tea.webp"
	send := func(instance int, method, path string, body map[string]any, want string) box.Reply {
		t.Helper()
		r, got := s.ask(t, instance, method, path, s.owner, body, nil)
		if got != want {
			t.Errorf("%s %s %v: %s, want %s", method, path, body, got, want)
		}
		return r
	}
	now := time.Now()
	draft := box.SeckillDraft(7, 5, now.Add(-time.Minute), now.Add(time.Hour))
	ordinary := map[string]any{"shopId": 7, "title": "x", "payValue": 1, "actualValue": 2}
	for _, refused := range []string{"https://other.example/7.png", "http://img.shop.example/7.png", "javascript:1"} {
		draft["picture"], ordinary["picture"] = refused, refused
		for path, body := range map[string]map[string]any{
			"PATCH /admin/shop/7": {"picture": refused}, "POST /voucher/seckill": draft, "POST /voucher": ordinary,
		} {
			method, path, _ := strings.Cut(path, " ")
			r := send(with, method, path, body, "400 INVALID picture:MALFORMED")
			if !strings.Contains(string(r.Body), "an address by https on img.shop.example, cdn.example:8443") {
				t.Errorf("%s does not say what is allowed: %s", path, r.Body)
			}
			send(without, method, path, body, "400 INVALID picture:NEEDS_SETTING")
		}
	}
	send(with, http.MethodPatch, "/admin/shop/7", map[string]any{"picture": ofShop}, "200")
	draft["picture"] = ofSale
	id := box.Decode[pictured](t, send(with, http.MethodPost, "/voucher/seckill", draft, "201")).ID
	sale := fmt.Sprint("/voucher/", id)
	see := func(instance int, path, want string) {
		t.Helper()
		box.Eventually(t, path, func() error {
			r, _ := s.ask(t, instance, http.MethodGet, path, s.owner, nil, nil)
			if got := box.Decode[pictured](t, r).Picture; got != want {
				return fmt.Errorf("%s has the picture %q, want %q", path, got, want)
			}
			return nil
		})
	}
	see(with, "/shop/7", ofShop)
	see(without, "/admin/shop/7", ofShop) // of before, as far as this instance knows
	see(without, sale, ofSale)
	r, _ := s.ask(t, with, http.MethodGet, "/voucher/list/7", "", nil, nil)
	if list := box.Decode[[]pictured](t, r); len(list) != 1 || list[0].Picture != ofSale {
		t.Errorf("the list is %+v", list)
	}
	send(with, http.MethodPatch, sale, map[string]any{"picture": later}, "200")
	see(without, sale, later)
	r = send(with, http.MethodPost, "/admin/template", map[string]any{"voucherId": id, "name": "Tea"}, "201")
	if !strings.Contains(string(r.Body), later) {
		t.Errorf("the template has no picture: %s", r.Body)
	}
	const noHosts = "400 INVALID picture:NEEDS_SETTING"
	for path, has := range map[string]string{sale: later, "/admin/shop/7": ofShop} { // as a form sends what it shows
		send(without, http.MethodPatch, path, map[string]any{"picture": has}, "200")
		send(without, http.MethodPatch, path, map[string]any{"picture": has + "x"}, noHosts)
		see(with, path, has)
	}
	send(without, http.MethodPatch, sale, map[string]any{"picture": ""}, "200")
	see(with, sale, "")
	r, _ = s.ask(t, with, http.MethodGet, "/admin/audit?limit=100", s.owner, nil, nil)
	for _, change := range []string{
		`"field":"picture","from":"` + later + `","to":""`, `"field":"picture","from":"` + ofSale + `","to":"` + later,
		`"field":"picture","from":"","to":"` + ofShop,
	} {
		if !strings.Contains(string(r.Body), change) {
			t.Errorf("the audit trail has no %s: %s", change, r.Body)
		}
	}
	for instance, want := range []string{
		with:    "img-src 'self' data: https://img.shop.example https://cdn.example:8443;",
		without: "img-src 'self' data:;",
	} {
		for _, page := range []string{"/", "/admin"} {
			r := s.page(t, instance, page)
			if got := r.Header.Get("Content-Security-Policy"); !strings.Contains(got, want) {
				t.Errorf("the policy of %s is %s, want %s", page, got, want)
			}
		}
	}
}

// page returns a page's answer.
func (s *shopSite) page(t *testing.T, instance int, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Servers[instance].URL(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close() // only its headers are looked at
	return r
}

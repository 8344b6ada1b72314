package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/test/box"
)

// An archived voucher leaves the public's lists on all instances at once. Its buyers keep their orders, a till redeems
// their coupons, and staff find it, but change it only once it is restored.
func TestArchive(t *testing.T) {
	t.Parallel()
	for _, kind := range box.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			testArchive(t, kind.Open(t))
		})
	}
}

func testArchive(t *testing.T, s *box.Site) {
	last := len(s.Servers) - 1
	draft := box.SeckillDraft(1, 5, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	draft["payValue"] = 0 // paid when it is recorded
	made := s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft,
	})
	id := box.Decode[box.Voucher](t, made).ID
	s.AwaitState(t, id, "on_sale")
	b := s.Buyers(id)
	b.Query = "wait=30s"
	order := fmt.Sprint("/order/", b.BuyUntilAnswered(t.Context(), 1).Order)
	one := fmt.Sprint("/voucher/", id)
	expect := func(want, method, path, token string, body any) {
		t.Helper()
		if got := call(t, s, last, method, path, token, body); got != want {
			t.Errorf("%s %s: %s, want %s", method, path, got, want)
		}
	}
	listed := func(path, token string) bool {
		t.Helper()
		r := s.Client.Must(t, http.StatusOK,
			box.Request{Method: http.MethodGet, URL: s.Servers[last].URL(path), Token: token})
		return strings.Contains(string(r.Body), fmt.Sprintf(`"id":%d,`, id))
	}
	expect("409 SALE_NOT_OVER", http.MethodPost, one+"/archive", box.AdminToken(), nil)
	if !listed("/voucher/list/1", "") {
		t.Error("the shop does not show the voucher before")
	}
	endSoon(t, s, id)
	s.AwaitState(t, id, "ended")
	for range 2 {
		s.Client.Must(t, http.StatusOK,
			box.Request{Method: http.MethodPost, URL: s.URL(one + "/archive"), Token: box.AdminToken()})
	}
	box.Eventually(t, "the last instance hiding it", func() error {
		if got := call(t, s, last, http.MethodGet, one, box.BuyerToken(1), nil); got != "404 NOT_FOUND" {
			return fmt.Errorf("it is answered %s", got)
		}
		if listed("/voucher/list/1", "") {
			return fmt.Errorf("it is listed")
		}
		return nil
	})
	expect("200", http.MethodGet, one, box.AdminToken(), nil)
	box.Eventually(t, "a purchase of it being answered as of none", func() error {
		path := fmt.Sprint("/voucher/seckill/", id)
		if got := call(t, s, last, http.MethodPost, path, box.BuyerToken(2), nil); got != "404 NOT_FOUND" {
			return fmt.Errorf("it is answered %s", got)
		}
		return nil
	})
	expect("409 ARCHIVED", http.MethodPatch, one, box.AdminToken(), map[string]any{
		"endTime": time.Now().Add(time.Hour).Format(time.RFC3339),
	})
	for query, want := range map[string]bool{"": false, "?archived=true": true, "?archived=only": true} {
		if listed("/admin/voucher"+query, box.AdminToken()) != want {
			t.Errorf("staff's list %q has it: %v, want %v", query, !want, want)
		}
	}
	r := s.Client.Whole(t, box.Request{URL: s.Servers[last].URL(order), Token: box.BuyerToken(1)})
	var bought struct {
		Status string
		Coupon struct{ Code string }
	}
	if err := json.Unmarshal(r.Data, &bought); err != nil || bought.Status != "paid" || bought.Coupon.Code == "" {
		t.Fatalf("the buyer's order is %s, %v", r.Data, err)
	}
	claims := box.Claims(9, authtoken.RoleTill)
	claims["shop"] = 1
	s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodPost, URL: s.URL("/till/redeem"), Token: box.Sign(box.Secret, claims),
		Body:   map[string]string{"code": bought.Coupon.Code},
		Header: map[string]string{"Idempotency-Key": "redeem-archived"},
	})
	expect("200", http.MethodPost, one+"/restore", box.AdminToken(), nil)
	box.Eventually(t, "the last instance showing it", func() error {
		if !listed("/voucher/list/1", "") {
			return fmt.Errorf("it is not listed")
		}
		return nil
	})
}

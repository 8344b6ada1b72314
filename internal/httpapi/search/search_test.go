package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/shoptest"
	"seckill/internal/voucher"
)

// searched is what a search asked for, and its payments.
type searched struct {
	shoptest.FakeLedger

	asked []string
}

func (s *searched) FindPayments(_ context.Context, f payment.Filter, _ int64, limit int) ([]payment.Payment, error) {
	s.asked = append(s.asked, fmt.Sprintf("payments %q of shop %d, %d", f.Name, f.ShopID, limit))
	if f.Name != "chg_9" {
		return nil, nil
	}
	return []payment.Payment{{ID: "pay_1", VoucherID: 5, UserID: 42, State: payment.Received}}, nil
}

// findOrders has seven orders of user 42, and order 6 of somebody.
func (s *searched) findOrders(f order.Filter, _ int64, limit int) (found []order.Order, err error) {
	s.asked = append(s.asked, fmt.Sprintf("orders %d of user %d and shop %d, %d", f.OrderID, f.UserID, f.ShopID, limit))
	switch {
	case f.OrderID == 6:
		found = []order.Order{{ID: 6, VoucherID: 5, UserID: 43, Status: order.Unpaid}}
	case f.UserID == 42:
		for id := int64(107); id > 100 && len(found) < limit; id-- {
			found = append(found, order.Order{ID: id, VoucherID: 5, UserID: 42, Status: order.Paid})
		}
	}
	return found, nil
}

func (s *searched) findTitles(q voucher.Search) (voucher.Found, error) {
	s.asked = append(s.asked, fmt.Sprintf("titles with %q of shop %d, %q", q.Title, q.ShopID, q.Archived))
	if !strings.Contains(titled, q.Title) {
		return voucher.Found{}, nil
	}
	return voucher.Found{Vouchers: []voucher.Shown{{Voucher: theVoucher(7)}}, Next: 7}, nil
}

// findShops has shop 6, and shop 8 with a name.
func (s *searched) findShops(
	_ context.Context, q voucher.ShopSearch,
) (found []voucher.FoundShop, more bool, err error) {
	s.asked = append(s.asked, fmt.Sprintf("shop %d, %q of shop %d, %d", q.Number, q.Part, q.Only, q.Limit))
	if q.Number == 6 && q.Only == 0 {
		found = append(found, voucher.FoundShop{ID: 6})
	}
	if q.Part == "Tea" {
		found = append(found, voucher.FoundShop{ID: 8, ByName: true})
	}
	return found, q.Part == "Tea", nil
}

const titled = "100 for 10"

// theVoucher is a voucher of shop 2.
func theVoucher(id int64) voucher.Voucher { return voucher.Voucher{ID: id, ShopID: 2, Title: titled} }

// find has the vouchers 5, 6 and 42.
func (s *searched) find(_ context.Context, id int64) (voucher.Voucher, error) {
	if id != 5 && id != 6 && id != 42 {
		return voucher.Voucher{}, voucher.ErrNotFound
	}
	return theVoucher(id), nil
}

func (s *searched) into(cfg *shoptest.Setup) {
	cfg.Ledger, cfg.Orders, cfg.FindVoucher = s, shoptest.FakeOrders{OnFind: s.findOrders}, s.find
	cfg.Vouchers = &shoptest.FakeVouchers{OnAll: s.findTitles}
	cfg.Members["shop"] = httpkit.Member{
		SearchShops: s.findShops,
		Shops:       func(context.Context, []int64) map[int64]string { return map[int64]string{8: "Tea house"} },
	}
	cfg.Members["coupon"] = httpkit.Member{Find: func(_ context.Context, text string) (int64, error) {
		return map[string]int64{shoptest.WholeCode: 6}[text], nil
	}}
}

// A text is searched for wherever it may stand, and a merchant's searches have their shop everywhere.
func TestSearch(t *testing.T) {
	t.Parallel()
	const other = 3
	voucherHit := func(id int64, by string) string {
		return fmt.Sprintf("voucher %d by %s: 100 for 10 of shop 2", id, by)
	}
	const ofNumber = "order 6 by id: 100 for 10 of shop 2, unpaid, user 43"
	ofUser := make([]string, 5)
	for i := range ofUser {
		ofUser[i] = fmt.Sprintf("order %d by user: 100 for 10 of shop 2, paid, user 42", 107-i)
	}
	for name, tc := range map[string]struct {
		q, code string
		shop    int64
		want    []string
		more    string
		asked   []string
	}{
		"a number": {
			q: "6", want: []string{voucherHit(6, "id"), ofNumber, "shop 6 by id:  of shop 6"},
			asked: []string{
				"orders 0 of user 6 and shop 0, 6", "orders 6 of user 0 and shop 0, 6", `payments "6" of shop 0, 6`,
				`shop 6, "6" of shop 0, 5`, `titles with "6" of shop 0, "true"`,
			},
		},
		"with a number sign": {
			q: " #6 ", want: []string{voucherHit(6, "id"), ofNumber, "shop 6 by id:  of shop 6"},
		},
		"a user with many orders": {q: "42", want: append([]string{voucherHit(42, "id")}, ofUser...), more: "user"},
		"no number of a user": {
			q: "660000000123456789", asked: []string{
				"orders 660000000123456789 of user 0 and shop 0, 6", `payments "660000000123456789" of shop 0, 6`,
				`shop 0, "660000000123456789" of shop 0, 5`, `titles with "660000000123456789" of shop 0, "true"`,
			},
		},
		"of another shop": {
			q: "6", shop: other, want: []string{ofNumber}, // the fake's
			asked: []string{
				"orders 0 of user 6 and shop 3, 6", "orders 6 of user 0 and shop 3, 6", `payments "6" of shop 3, 6`,
				`shop 6, "6" of shop 3, 5`, `titles with "6" of shop 3, "true"`,
			},
		},
		"a reference": {
			q: "chg_9", want: []string{"payment pay_1 by payment: 100 for 10 of shop 2, received, user 42"},
			asked: []string{
				`payments "chg_9" of shop 0, 6`, `shop 0, "chg_9" of shop 0, 5`,
				`titles with "chg_9" of shop 0, "true"`,
			},
		},
		"a title": {q: "for 1", want: []string{voucherHit(7, "title")}, more: "title"},
		"a shop's name": {
			q: "Tea", want: []string{"shop 8 by name:  of shop 8"}, more: "name",
			asked: []string{
				`payments "Tea" of shop 0, 6`, `shop 0, "Tea" of shop 0, 5`, `titles with "Tea" of shop 0, "true"`,
			},
		},
		"below zero": {q: "-6", asked: []string{
			`payments "-6" of shop 0, 6`, `shop 0, "-6" of shop 0, 5`, `titles with "-6" of shop 0, "true"`,
		}},
		"with a plus": {q: "+6", asked: []string{
			`payments "+6" of shop 0, 6`, `shop 0, "+6" of shop 0, 5`, `titles with "+6" of shop 0, "true"`,
		}},
		"no reference": {q: "晚餐", asked: []string{`shop 0, "晚餐" of shop 0, 5`, `titles with "晚餐" of shop 0, "true"`}},
		"a code": {
			code: shoptest.WholeCode, want: []string{"order 6 by code: 100 for 10 of shop 2, unpaid, user 43"},
			asked: []string{
				"orders 6 of user 0 and shop 0, 6", `payments "` + shoptest.WholeCode + `" of shop 0, 6`,
				`shop 0, "` + shoptest.WholeCode + `" of shop 0, 5`,
				`titles with "` + shoptest.WholeCode + `" of shop 0, "true"`,
			},
		},
		"a merchant's code": {code: shoptest.WholeCode, shop: other, want: []string{
			"order 6 by code: 100 for 10 of shop 2, unpaid, user 43", // the fake's
		}, asked: []string{
			"orders 6 of user 0 and shop 3, 6", `payments "` + shoptest.WholeCode + `" of shop 3, 6`,
			`shop 0, "` + shoptest.WholeCode + `" of shop 3, 5`,
			`titles with "` + shoptest.WholeCode + `" of shop 3, "true"`,
		}},
		"a title that may be a code": {code: "for 1", want: []string{voucherHit(7, "title")}, more: "title"},
		"no code":                    {code: "0000-0000-0000-0000"},
	} {
		s := &searched{}
		a := shoptest.NewAPI(t, s.into)
		r := shoptest.Request{Method: http.MethodGet, Target: "/admin/search", Header: map[string]string{}}
		if tc.q != "" {
			r.Target += "?q=" + url.QueryEscape(tc.q)
		}
		if tc.code != "" {
			r.Header["Coupon-Code"] = tc.code
		}
		call := shoptest.AsAdmin
		if tc.shop != 0 {
			r.Header["Authorization"] = "Bearer " + apitest.MerchantToken(t, tc.shop)
			call = shoptest.Do
		}
		got, more := hits(t, call(t, a, r).Body.Bytes())
		if diff := cmp.Diff(tc.want, got); diff != "" || more != tc.more {
			t.Errorf("%s: more of %q (-want +got):\n%s", name, more, diff)
		}
		if diff := cmp.Diff(tc.asked, s.asked); tc.asked != nil && diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", name, diff)
		}
	}
}

// hits returns the hits of an answer, a line each, and of what there are more.
func hits(t *testing.T, body []byte) (lines []string, more string) {
	t.Helper()
	var got struct {
		Data struct {
			Hits []struct {
				Kind, ID, By, Title, Status string
				VoucherID, ShopID, UserID   int64
			}
			More []string
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, h := range got.Data.Hits {
		line := fmt.Sprintf("%s %s by %s: %s of shop %d", h.Kind, h.ID, h.By, h.Title, h.ShopID)
		if h.Kind == "order" || h.Kind == "payment" {
			line += fmt.Sprintf(", %s, user %d", h.Status, h.UserID)
		}
		lines = append(lines, line)
	}
	return lines, strings.Join(got.Data.More, " ")
}

// A search needs a text or a code, once.
func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	a := shoptest.NewAPI(t, new(searched).into)
	for query, field := range map[string]string{
		"": "q", "?q=": "q", "?q=%20%09": "q", "?q=" + strings.Repeat("x", 129): "q", "?q=%ff": "q", "?q=1&q=2": "q",
		"?q=1&kind=order": "kind",
	} {
		w := shoptest.AsAdmin(t, a, shoptest.Request{Method: http.MethodGet, Target: "/admin/search" + query})
		p := shoptest.WantProblem(t, w, http.StatusBadRequest, "INVALID")
		if len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %+v", query, p.Errors)
		}
	}
}

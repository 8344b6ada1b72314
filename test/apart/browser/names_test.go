package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/test/box"
)

// TestShopsHaveNames has an admin name and bound a shop in the console, and its merchant rename it: the name stands
// wherever its number did, in lists, on a sale's page, in what is found, in the audit trail, and on the buyer's page.
func TestShopsHaveNames(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	draft := box.SeckillDraft(3, 5, time.Now(), time.Now().Add(time.Hour))
	draft["title"] = "Tea for two"
	var sale struct{ ID int64 }
	s.must(http.MethodPost, "/voucher/seckill", admin, draft, &sale)
	s.must(http.MethodPost, "/admin/webhook", admin,
		map[string]any{"shopId": 3, "url": "https://shop.example/hook", "disabled": true}, nil)
	s.must(http.MethodPost, "/admin/template", admin, map[string]any{"voucherId": sale.ID, "name": "Evening"}, nil)

	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
	w.sees("td [data-shop='3']", "Shop 3")
	w.visit(s.url("/admin#/shops"))
	w.sees("tr[data-shop='3'] th, tr[data-shop='3'] td", "Shop 3") // it sells
	w.enter("#shop-number", "3")
	w.click("[data-act=open-shop]")
	w.until("location.hash === '#/shop/3'")
	w.sees("h1", "Shop 3")
	w.click("[data-act=edit-shop]")
	w.enter("#f-name", "Corner bakery")
	w.enter("#f-maxSales", "101")
	w.enter("#f-maxUnits", "100,001")
	w.accessible()
	w.click("dialog [data-act=yes]")
	w.sees("#f-maxSales-wrong", "0 to 100")
	w.sees("#f-maxUnits-wrong", "0 to 100,000")
	w.picture("shop-wrong", false)
	w.replaces("#f-maxSales", "5")
	w.replaces("#f-maxUnits", "2,000")
	w.click("dialog [data-act=yes]")
	w.seesNo("dialog")
	w.sees("h1", "Corner bakery")
	w.sees("[data-fact='field.maxSales']", "5")
	w.sees("[data-fact='field.maxUnits']", "2,000")
	w.accessible()
	w.picture("shop", false)
	w.visit(s.url("/admin#/shops"))
	w.sees("tr[data-shop='3']", "Corner bakery")
	w.accessible()
	w.picture("shops", false)

	claims := box.Claims(7, "merchant")
	claims["shop"] = 3
	m := open(t, s.url("/admin#/shops"), phone().in("zh-CN"))
	m.enter("#token", box.Sign(box.Secret, claims))
	m.click("form .button.primary")
	m.sees("h1", "Corner bakery")
	m.click("[data-act=edit-shop]")
	m.seesNo("#f-maxSales")
	m.replaces("#f-name", "街角面包房")
	m.accessible()
	m.picture("shop-merchant", false)
	m.click("dialog [data-act=yes]")
	m.sees("h1", "街角面包房")
	m.visit(s.url("/admin#/start"))
	m.until("document.querySelector('.who').textContent.includes('商家 7，街角面包房')") // a telephone has no room for it

	for place, selector := range map[string]string{
		"vouchers": "td [data-shop='3']", fmt.Sprint("voucher/", sale.ID): ".head [data-shop='3']",
		"webhooks": "td [data-shop='3']", "webhook/1": ".facts [data-shop='3']", "shops": "tr[data-shop='3']",
		"audit": "tbody tr:first-child [data-shop='3']",
	} {
		w.visit(s.url("/admin#/" + place))
		w.sees(selector, "街角面包房")
	}
	w.picture("shop-audit", false)
	w.visit(s.url("/admin#/vouchers"))
	w.click("[data-act=create]")
	w.until("[...document.querySelectorAll('dialog option')].some((o) => o.label === 'Evening · 街角面包房')")
	w.escapes()
	w.seesNo("dialog")
	w.enter("#find", "Tea")
	w.sees(".finds", "街角面包房")
	w.replaces("#find", "街角")
	w.sees("#find-0", "found by name")
	w.accessible()
	w.picture("find-shop", false)
	w.replaces("#find", "#3")
	w.sees(".finds", "Shop")
	w.click(".finds li:last-child")
	w.until("location.hash === '#/shop/3'")

	for language, unnamed := range map[string]string{"en": "Shop 4", "zh-CN": "店铺 4"} {
		b := open(t, s.url("/?shop=3"), phone().in(language))
		b.sees(".shop-name", "街角面包房")
		b.picture("shop-buyer-"+language, false)
		b.visit(s.url("/?shop=4"))
		b.sees(".shop-name", unnamed)
	}
}

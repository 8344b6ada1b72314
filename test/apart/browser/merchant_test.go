package browser

import (
	"net/http"
	"testing"
	"time"

	"seckill/test/box"
)

// A merchant's console has their shop and nothing of the installation.
func TestConsoleOfMerchant(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	for shop, title := range map[int64]string{3: "Theirs", 4: "Of another shop"} {
		draft := box.SeckillDraft(shop, 5, time.Now(), time.Now().Add(time.Hour))
		draft["title"] = title
		s.must(http.MethodPost, "/voucher/seckill", admin, draft, nil)
	}
	claims := box.Claims(7, "merchant")
	claims["shop"] = 3
	w := open(t, s.url("/admin#/partitions"), desktop())
	w.enter("#token", box.Sign(box.Secret, claims))
	w.click("form .button.primary")
	w.sees("h1", "Page not found") // for merchants
	w.sees(".who", "Merchant 7, Shop 3")
	w.visit(s.url("/admin#/vouchers"))
	w.sees("tbody", "Theirs")
	w.accessible()
	for what, wrong := range map[string]string{
		"another shop's voucher": "document.body.innerText.includes('Of another shop')",
		"a section of admins": "document.querySelector('.places a[href*=partitions], .places a[href*=deadletters]') " +
			"!== null",
	} {
		if evaluate[bool](w, wrong) {
			t.Errorf("the page shows %s", what)
		}
	}
	for _, one := range [][2]string{
		{"sales", "Sales"},
		{"orders", "Orders"},
		{"webhooks", "Webhooks"},
		{"shops", "Shop 3"},
		{"audit", "Audit trail"},
	} {
		place, title := one[0], one[1]
		w.visit(s.url("/admin#/" + place))
		w.sees("h1", title)
		w.seesNo("#token")
	}
	w.sees("body", "Theirs")
	if evaluate[bool](w, "document.body.innerText.includes('Of another shop')") {
		t.Error("the audit trail has another shop's voucher")
	}
	w.visit(s.url("/admin#/partitions"))
	w.sees("h1", "Page not found")
	w.seesNo("#token")
	w.visit(s.url("/admin#/start"))
	w.sees("[data-running]", "Theirs")
	w.seesNo("main > .note.warn") // all that it asks for, a merchant may see
}

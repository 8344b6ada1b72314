package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestFind finds a voucher by its title, an order by its buyer and by its coupon's code, a payment by its id, and what
// is known of a user without an order, by the keyboard alone. The code is in no address.
func TestFind(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.redeemableSale("Tea for two", 10_00)
	order := s.paid(voucher, 7050)
	code := s.code(order, 7050)
	var known struct{ Payments []struct{ ID string } }
	s.must(http.MethodGet, "/admin/order/"+order, admin, nil, &known)
	small := phone().in("zh-CN").inDark()
	small.width = 360
	for _, tt := range []struct {
		device                       device
		byUser, byCode, title, loses string
	}{
		{desktop(), "found by buyer", "found by code", "found by title", "Nothing has"},
		{small, "按买家", "按券码", "按标题", "没有编号"},
	} {
		w := open(t, s.url("/admin#/start"), s.asAdmin(tt.device))
		w.sees("#find", "")
		// Chromium's protocol types a character even if the page takes its key for something else, so these come alone.
		press := func(key string) {
			t.Helper()
			evaluate[bool](w, "(document.activeElement.dispatchEvent(new KeyboardEvent('keydown', "+
				"{key: '"+key+"', bubbles: true, cancelable: true})), true)")
		}
		finds := func(text, want string) {
			t.Helper()
			press("/")
			w.until("document.activeElement.id === 'find'")
			w.keys(text)
			w.sees(".finds", want)
		}
		finds("7050", tt.byUser)
		w.sees("#find-0[aria-selected=true]", "Tea for two")
		w.accessible()
		w.picture("find-"+tt.device.name+tt.device.language, false)
		press("Enter")
		w.sees("dialog", order)
		w.until(fmt.Sprintf("location.hash === '#/orders?orderId=%s'", order))
		w.escapes()
		w.seesNo("dialog")
		finds(strings.ToLower(strings.ReplaceAll(code, "-", " ")), tt.byCode)
		w.keys(kb.Escape)
		w.until("!document.querySelector('.finds').checkVisibility()")
		if evaluate[bool](w, fmt.Sprintf("performance.getEntriesByType('resource').some(e => "+
			"decodeURIComponent(e.name).toUpperCase().replace(/[ +-]/g, '').includes('%s'))",
			strings.ReplaceAll(code, "-", ""))) {
			t.Error("an address has a coupon's code")
		}
		w.visit(s.url("/admin#/sales"))
		w.sees("#find", "")
		finds("tea", tt.title)
		w.keys(kb.ArrowDown + kb.ArrowUp)
		press("Enter")
		w.until(fmt.Sprintf("location.hash === '#/voucher/%d'", voucher))
		finds(known.Payments[0].ID, "Tea for two")
		press("Enter")
		w.until("location.hash.startsWith('#/payments?payment=')")
		w.sees("main", order)
		finds("nobody has this", tt.loses)
		w.picture("find-none-"+tt.device.name+tt.device.language, false)
		evaluate[bool](w, "(document.querySelector('#find').select(), true)") // what is typed replaces it
		finds("8888", "8888")                                                 // who has no order may have been refused
		w.sees("#find-0", "8888")
		w.picture("find-user-"+tt.device.name+tt.device.language, false)
		press("Enter")
		w.until("location.hash === '#/orders?userId=8888'")
	}
}

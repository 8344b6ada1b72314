package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestBack checks that Back closes a dialog of the shop and does not leave it, that a dialog which is closed otherwise
// leaves nothing for Back, and that the sandbox's page does not ask again for what is paid.
func TestBack(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.redeemableSale("Tea for two", 1000)
	for i, d := range []device{desktop(), {name: "narrow", width: 360, height: 740, language: "zh-CN", dark: true}} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			user := int64(42 + i)
			s.unpaid(voucher, user)
			w := open(t, s.url("/?first"), s.signedIn(d, user))
			back := func() { evaluate[bool](w, "history.back(), true") }
			w.click(".own .order [data-act=cancel]")
			w.sees("dialog", "")
			back()
			w.seesNo("dialog")
			w.until("history.state === null && location.search === '?first'")

			w.click(".own .order [data-act=pay]")
			w.click("form[method=post]:not(.outcomes) button")
			w.sees(".paid", "")
			w.picture("sandbox-paid-"+d.name, false)
			w.click("a.back")
			w.sees(button("yours"), "")
			for _, closes := range []func(){back, func() { w.keys(kb.Escape) }, func() { w.click(".dialog-close") }} {
				w.click(".own .order [data-act=code]")
				w.sees("dialog .coupon-code", "")
				w.until("history.state === 'dialog'")
				closes()
				w.seesNo("dialog")
				w.until("history.state === null")
			}
			w.sees(button("yours"), "")
			back()
			w.sees(".paid", "")
			w.seesNo("form[method=post]:not(.outcomes) button")
			w.accessible()
			w.visit(s.url(fmt.Sprintf("/?again#voucher-%d", voucher)))
			w.click(".own .order [data-act=code]")
			w.sees("dialog .coupon-code", "")
			evaluate[bool](w, "location.reload(), true")
			w.sees(".own .order [data-act=code]", "")
			w.click(".own .order [data-act=code]")
			w.sees("dialog .coupon-code", "")
			back()
			w.seesNo("dialog")
		})
	}
}

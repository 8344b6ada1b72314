package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// tabTo moves the focus with the tabulator until it is on an element that matches.
func (w *window) tabTo(selector string) {
	w.tb.Helper()
	w.sees(selector, "")
	for range 60 {
		w.keys(kb.Tab)
		// While the browser changes to another document, nothing has the focus.
		if evaluate[bool](w, fmt.Sprintf("document.activeElement?.matches(%s) === true", quoted(selector))) {
			return
		}
	}
	w.tb.Fatalf("%s cannot be reached with the tabulator; the focus is on %s",
		selector, evaluate[string](w, "document.activeElement.outerHTML"))
}

// TestKeyboardPurchase buys and pays without a mouse: the focus is visible, moves in order, and ends on what was
// bought.
func TestKeyboardPurchase(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	v := s.redeemableSale("Noodles for two", 1000)
	w := open(t, s.url("/"), desktop().in("zh-CN"))
	w.tabTo(button("grab"))
	w.keys(kb.Enter)
	w.sees("dialog", "登录后抢购")
	w.until("document.activeElement.id === 'token' || document.activeElement.closest('dialog') !== null")
	if !evaluate[bool](w, "document.activeElement.id === 'token'") {
		w.tabTo("#token")
	}
	w.keys(s.token(42))
	w.tabTo("dialog form button")
	w.keys(kb.Enter)
	w.sees(button("unpaid"), "支付 ¥10")
	w.tabTo(button("unpaid"))
	w.until("getComputedStyle(document.activeElement).outlineStyle !== 'none'")
	w.keys(kb.Enter)
	w.sees("h1", "沙盒支付")
	w.tabTo("form[method=post] button")
	w.keys(kb.Enter)
	w.sees(".said.paid", "") // the page before it has a way back, too
	w.tabTo("a.back")
	w.keys(kb.Enter)
	w.sees(button("yours"), "已抢到")
	w.tabTo(".order [data-act=code]")
	w.keys(kb.Enter)
	w.sees("dialog .coupon-code", "")
	w.accessible()
	w.keys(kb.Escape)
	w.seesNo("dialog")
	w.until("document.activeElement.matches('.order [data-act=code]')")
	if got, want := fmt.Sprint(s.orders(42)), fmt.Sprintf("[%d paid]", v); got != want {
		t.Errorf("the buyer has %s, want %s", got, want)
	}
}

// TestKeyboardSale creates a sale, does not pause it after all, and calls it off without a mouse.
func TestKeyboardSale(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	w := open(t, s.url("/admin"), s.asAdmin(desktop()))
	w.tabTo("[data-act=create]")
	w.keys(kb.Enter)
	w.until("document.activeElement.id === 'f-title'")
	w.keys("Noodles for two")
	for _, field := range []struct{ name, value string }{{"payValue", "10"}, {"actualValue", "50"}, {"stock", "40"}} {
		w.tabTo("#f-" + field.name)
		w.keys(field.value)
	}
	w.keys(kb.Enter) // sends the form
	w.seesNo("dialog")
	w.sees("h1", "Noodles for two")
	w.tabTo(".actions > [data-act=pause]")
	w.keys(kb.Enter)
	w.sees("dialog h2", "Pause the sale")
	w.keys(kb.Enter) // on what leaves all as it is
	w.seesNo("dialog")
	w.until("document.activeElement.matches('[data-act=pause]')")
	evaluate[bool](w, "location.reload(), true") // to begin again at the top
	w.seesNo(":focus")
	w.sees("h1", "Noodles for two")
	w.tabTo("[data-act=menu]")
	w.keys(kb.Enter)
	w.tabTo(".menu-list [data-act=calloff]")
	w.keys(kb.Enter)
	w.sees("[data-means]", "40")
	w.tabTo("#f-why")
	w.keys("a mistake")
	w.tabTo("#f-number")
	w.keys("1" + kb.Enter)
	w.seesNo("dialog")
	w.sees(".head .tag", "Called off")
	w.sees("[data-unwinding=unwound]", "There is nothing left to do")
	w.accessible()
}

package browser

import (
	"testing"

	"seckill/internal/testkit"
)

// TestConsoleSeveral has an admin cancel several orders with one reason, of which one is paid meanwhile and one
// answer is lost: each is cancelled once, and what is refused is listed with why.
func TestConsoleSeveral(t *testing.T) {
	t.Parallel()
	for language, says := range map[string]struct{ chosen, progress, refused, done string }{
		"en-GB": {"4 chosen", "2 of 3 done", "1 was refused", "Cancel 3"},
		"zh-CN": {"已选 4 项", "已完成 2/3", "1 项被拒绝", "取消 3 个订单"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			s := realShop(t)
			voucher := s.onSale("Noodles for two", 9)
			paid := s.paid(voucher, 41)
			var orders []string
			for user := int64(42); user < 45; user++ {
				orders = append(orders, s.unpaid(voucher, user))
			}
			p := testkit.NewProxy(t, s.server.Addr)
			w := open(t, s.through(p)+"admin#/orders", s.asAdmin(desktop().in(language)))
			w.until("document.querySelectorAll('tbody tr').length === 4")
			w.click("thead input[type=checkbox]")
			w.sees(".several", says.chosen)
			w.sees(".several", says.done)
			w.seesNo("[data-several=retry]")
			w.accessible()
			w.picture("console-several-desktop"+language, false)

			w.click("[data-several=cancel]")
			w.click("dialog [data-act=yes]")
			w.sees("#f-why-wrong", "")
			s.pay(orders[1], 43)
			p.DropRepliesTo("POST /admin/order", 1)
			w.enter("#f-why", "the kitchen burnt")
			w.click("dialog [data-act=yes]")
			w.sees("dialog [data-progress]", says.progress)
			w.sees("dialog [data-refused]", orders[1])
			w.sees("dialog", says.refused)
			w.accessible()
			w.picture("console-several-refused-desktop"+language, false)
			if p.Lost() == 0 {
				t.Error("no answer was lost: nothing was tested")
			}
			for _, order := range []string{orders[0], orders[2]} {
				s.awaitOrder(order, "cancelled")
			}
			s.awaitOrder(paid, "paid")
		})
	}
}

// TestConsoleViews has an admin keep a filter under a name, find it again in another tab, and delete it.
func TestConsoleViews(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	s.unpaid(s.onSale("Noodles for two", 9), 7)
	w := open(t, s.url("/admin#/orders"), s.asAdmin(desktop()))
	w.until("document.querySelectorAll('tbody tr').length === 1")
	w.seesNo("[data-act=views]")
	w.visit(s.url("/admin#/orders?userId=7&status=unpaid"))
	w.click("[data-act=views]")
	w.enter("#view-name", " Of the regular ")
	w.accessible()
	w.picture("console-views-desktop", false)
	w.click("[data-act=keep-view]")

	w.visit(s.url("/admin#/orders"))
	w.click("[data-act=views]")
	w.sees(".views a", "Of the regular")
	w.click(".views a")
	w.until("location.hash === '#/orders?userId=7&status=unpaid'")
	w.visit(s.url("/admin#/payments"))
	w.sees("h1", "Payments")
	w.seesNo("[data-act=views]") // of another list
	w.visit(s.url("/admin#/orders"))
	w.click("[data-act=views]")
	w.click("[data-act=forget-view]")
	w.seesNo(".views")
	for _, odd := range []string{"{", "null", "7", `{"#/orders":null}`} {
		evaluate[bool](w, "localStorage.setItem('seckill.views', '"+odd+"'), true")
		w.visit(s.url("/admin#/start"))
		w.visit(s.url("/admin#/orders"))
		w.until("document.querySelectorAll('tbody tr').length === 1")
	}
}

// TestOrdersByTitle has an admin come from the unpaid units of a sale to their orders, and find orders by a part of a
// voucher's title: one that several have is refused, with their numbers, and one that is another's beginning is found.
func TestOrdersByTitle(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	s.paid(s.onSale("Noodles for two", 9), 41)
	order := s.unpaid(s.onSale("Noodles", 9), 42)
	w := open(t, s.url("/admin#/start"), s.asAdmin(desktop()))
	w.click("[data-running] a[href*='status=unpaid']")
	w.sees("tbody tr", order)
	w.sees("tbody tr a[href='#/shop/1']", "Shop 1")
	w.visit(s.url("/admin#/orders"))
	w.until("document.querySelectorAll('tbody tr').length === 2")
	search := func(text string) {
		t.Helper()
		evaluate[bool](w, "(document.querySelector('#q-voucherId').select(), true)") // what is typed replaces it
		w.enter("#q-voucherId", text)
		w.click("form[role=search] button:not([type])")
	}
	search("oodle")
	w.sees("[data-problem]", "Noodles for two")
	w.accessible()
	w.picture("console-orders-by-title-desktop", false)
	search("soup")
	w.sees("[data-problem]", "No voucher has “soup”")
	search("Noodles")
	w.until("document.querySelectorAll('tbody tr').length === 1")
	w.seesNo("[data-problem]")
	search("for two")
	w.sees("tbody .tag", "Paid")
	w.click("tbody .link")
	w.sees("dialog [data-usable]", "not redeemed, and valid")
}

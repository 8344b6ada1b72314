package browser

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
)

// staffAct has the console do something to the open order, for a reason.
func (w *window) staffAct(act, why string) {
	w.tb.Helper()
	w.press(fmt.Sprintf("dialog [data-act=%s]", act)) // an answer may still move it
	w.enter("#f-why", why)
	w.click("dialog [data-act=yes]")
}

// TestConsoleStaff has an admin extend a coupon, undo its redemption and refund it, from the console; the buyer's page
// and the audit trail say so. The order leads to its logs.
func TestConsoleStaff(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_TRACE_URL", "https://logs.example/search?q={order}&live=1")
	for language, says := range map[string]struct {
		later, paid, refund, why, missing string
		extended, refunded, suffix, day   string
		logs                              string
	}{
		"en-GB": {
			"later than the coupon", "Paid", "Refunded", "the shop was closed", "missing", "The coupon is extended.",
			"The order is refunded.", "", "Thu, 1 January 2026", "Logs and traces",
		},
		"zh-CN": {
			"晚于现有有效期", "已支付", "已退款", "店铺停业", "必填", "有效期已延长。", "订单已退款。", "-zh", "2026年1月1日周四",
			"日志",
		},
	} {
		id, code := s.coupon("Noodles for two " + language)
		w := open(t, s.url("/admin#/orders?orderId="+id), s.asAdmin(desktop().in(language)))
		w.sees("dialog .tag", says.paid)
		w.sees("dialog a[data-trace]", says.logs)
		w.until("document.querySelector('[data-trace]').href === 'https://logs.example/search?q=" + id + "&live=1'")
		w.accessible()
		w.picture("console-order-desktop"+says.suffix, false)

		w.click("dialog [data-act=extend]")
		w.click("dialog [data-act=yes]")
		w.sees("#f-why-wrong", says.missing)
		w.enter("#f-why", says.why)
		w.setsTime("validUntil", "2026-01-01T00:00:00")
		w.sees("[data-day=validUntil]", says.day)
		w.click("dialog [data-act=yes]")
		w.sees("#f-validUntil-wrong", says.later)
		w.accessible()
		w.picture("console-extend-refused-desktop"+says.suffix, false)
		later := time.Now().AddDate(1, 0, 0)
		w.setsTime("validUntil", later.Format("2006-01-02T15:04:05"))
		w.click("dialog [data-act=yes]")
		w.sees("dialog .figures", fmt.Sprint(later.Year()))
		w.sees("dialog [data-said]", says.extended)
		w.sees("dialog:modal", fmt.Sprint(later.Year()))
		w.accessible()
		w.picture("console-extended-desktop"+says.suffix, false)

		till := open(t, s.url("/till"), s.asTill(phone().in(language)))
		till.enter("#code", code)
		till.click("[data-act=check]")
		till.click("[data-act=redeem]")
		till.sees(".result.good .says", "")
		w = open(t, s.url("/admin#/orders?orderId="+id), s.asAdmin(desktop().in(language)))
		w.click("dialog [data-act=unredeem]")
		w.accessible()
		w.picture("console-unredeem-desktop"+says.suffix, false)
		w.click("dialog .button.quiet")
		w.staffAct("unredeem", says.why)
		w.sees("dialog .tag", says.paid)
		w.staffAct("refund", says.why)
		w.sees("dialog .tag", says.refund)
		w.seesNo("dialog [data-act=refund]")
		w.sees("dialog [data-said]", says.refunded)
		w.accessible()
		w.picture("console-refunded-desktop"+says.suffix, false)
		w.visit(s.url("/admin#/audit"))
		w.sees("tr[data-action=refund]", says.why)
		w.sees("tr[data-action=refund]", says.refund)
		w.accessible()
		w.picture("console-staff-audit-desktop"+says.suffix, false)
	}
}

// TestConsoleStaffWithLostAnswer checks that a cancel whose answer is lost is done once.
func TestConsoleStaffWithLostAnswer(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	v := s.onSale("Noodles for one", 5)
	var bought struct{ OrderID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", v), 42, nil, &bought)
	p := testkit.NewProxy(t, s.server.Addr)
	w := open(t, s.through(p)+"admin#/orders?orderId="+bought.OrderID, s.asAdmin(phone()))
	p.DropRepliesTo("POST /admin/order", 1)
	w.staffAct("cancel", "a mistake")
	w.sees("dialog .tag", "Cancelled")
	w.sees("dialog .history li:last-child", "by admin 1")
	w.accessible()
	w.picture("console-cancelled-phone", false)
	if p.Lost() == 0 {
		t.Error("no answer was lost: nothing was tested")
	}
	var trail []struct{ Action string }
	s.must(http.MethodGet, fmt.Sprintf("/admin/audit?voucherId=%d", v), admin, nil, &trail)
	cancels := 0
	for _, e := range trail {
		if e.Action == "cancel" {
			cancels++
		}
	}
	if cancels != 1 {
		t.Errorf("%d cancels in the audit trail, want 1", cancels)
	}
}

// TestConsoleStaffRefused checks that what a till has done meanwhile is a clear refusal, and that the order is shown as
// it is by then.
func TestConsoleStaffRefused(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	id, code := s.coupon("Noodles for two")
	for language, says := range map[string]string{"en-GB": "The order is: Redeemed", "zh-CN": "已使用"} {
		w := open(t, s.url("/admin#/orders?orderId="+id), s.asAdmin(phone().in(language)))
		w.click("dialog [data-act=refund]")
		w.enter("#f-why", "a mistake")
		till := open(t, s.url("/till"), s.asTill(phone()))
		till.enter("#code", code)
		till.click("[data-act=check]")
		till.click("[data-act=redeem]")
		till.sees(".result.good .says", "")
		w.click("dialog [data-act=yes]")
		w.sees("dialog [role=alert]", says)
		w.accessible()
		w.picture("console-refund-refused-phone-"+language, false)
		w.click("dialog .button.quiet")
		w.staffAct("unredeem", "a mistake")
		w.sees("dialog [data-act=refund]", "")
	}
}

// TestConsoleFindsOrderOfPayment finds an order by the id of its payment.
func TestConsoleFindsOrderOfPayment(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	v := s.onSale("Noodles for one", 5)
	var bought struct{ OrderID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", v), 42, nil, &bought)
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", v), 43, nil, nil)
	var payment struct{ PaymentID string }
	s.must(http.MethodPost, "/order/"+bought.OrderID+"/pay", 42, nil, &payment)
	w := open(t, s.url("/admin#/orders"), s.asAdmin(desktop()))
	w.enter("#q-payment", payment.PaymentID)
	w.keys("\r")
	w.sees("tbody tr:only-child", bought.OrderID)
	w.accessible()
	w.picture("console-orders-of-payment-desktop", false)
}

// TestConsoleCodeSearch finds an order by its coupon's code, which is as good as the coupon: no address has it. Labels
// of the search stand beside their fields.
func TestConsoleCodeSearch(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	id, code := s.coupon("Noodles for two")
	other, _ := s.coupon("Noodles for three")
	for _, d := range []device{desktop(), phone().in("zh-CN").inDark()} {
		w := open(t, s.url("/admin#/orders"), s.asAdmin(d))
		w.sees("tbody", other)
		w.enter("#q-code", code)
		w.click("[role=search] button")
		w.until("document.querySelectorAll('tbody tr').length === 1")
		w.sees("tbody", id)
		w.click("tbody button")
		w.sees("dialog", id)
		w.click("dialog .dialog-close")
		w.seesNo("dialog")
		w.sees("tbody", id)
		w.until("document.querySelector('#q-code').value !== ''")
		w.mu.Lock()
		addresses := slices.Clone(w.requests)
		w.mu.Unlock()
		for _, at := range append(addresses, evaluate[string](w, "location.href")) {
			if strings.Contains(at, "code=") || strings.Contains(at, code) {
				t.Errorf("the code is in the address %s", at)
			}
		}
		w.until("['from', 'to'].every((name) => { const [label, field] = [`label[for=q-${name}]`, `#q-${name}`]." +
			"map((one) => document.querySelector(one).getBoundingClientRect()); " +
			"return label.top > field.top && label.bottom < field.bottom && label.right < field.left; })")
		w.accessible()
		w.picture("console-code-search-"+d.name, false)
		w.enter("#q-code", "券码")
		w.click("[role=search] button")
		w.sees("#list-trouble", "")
	}
}

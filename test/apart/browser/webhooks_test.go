package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/webhook/dispatch"
)

// hook is a receiver of webhooks that answers with a status.
func hook(tb testing.TB) (address string, status *atomic.Int32) {
	tb.Helper()
	status = new(atomic.Int32)
	status.Store(http.StatusNoContent)
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	tb.Cleanup(server.Close)
	return server.URL + "/hooks/coupons", status
}

// TestConsoleWebhooks creates an endpoint (after an invalid form), tests it, changes it, gives it a new secret, has it
// disabled by a 410, enables and deletes it; events are listed and sent again.
func TestConsoleWebhooks(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_WEBHOOK_ALLOW", "127.0.0.0/8")
	address, status := hook(t)
	w := open(t, s.url("/admin#/webhooks"), s.asAdmin(desktop()))
	w.sees(".note", "No endpoint")
	w.accessible()
	w.click("[data-act=create]")
	w.enter("#f-url", "ftp://shop.example")
	w.enter("#f-shopId", "one")
	w.click("dialog [data-act=yes]")
	w.sees("#f-shopId-wrong", "a whole number")
	w.replaces("#f-shopId", "1")
	w.isRight("shopId")
	w.click("dialog [data-act=yes]")
	w.sees("#f-url-wrong", "https://host/path")
	w.accessible()
	w.replaces("#f-url", address)
	w.enter("#f-description", "Mails to buyers")
	w.click("dialog input[value='order.paid']")
	w.click("dialog input[value='order.unpaid']")
	w.picture("console-webhook-form-desktop", false)
	w.click("dialog [data-act=yes]")
	w.sees("[data-secret]", "whsec_")
	w.accessible()
	w.click("[data-act=close]")
	w.sees("tr[data-webhook]", "Nothing sent yet")
	w.sees("tr[data-webhook]", "Unpaid, Paid")
	w.click("tr[data-webhook] a")
	w.sees(".note", "No order or waiting list of the shop has changed")

	w.click("[data-act=test]")
	w.sees("[data-tried]", "The endpoint accepted it")
	status.Store(http.StatusInternalServerError)
	// Faster than any person: the browser's event that one dialog has closed arrives when the next one is already open.
	evaluate[bool](w, `(async () => {
		document.querySelector('dialog .button.primary').click();
		for (let i = 0; i < 1000 && document.querySelector('dialog'); i++) await null;
		document.querySelector('[data-act=test]').click();
		return true;
	})()`)
	w.sees("[data-tried]", "answered 500")
	w.accessible()
	w.keys(kb.Escape)
	w.seesNo("dialog")
	status.Store(http.StatusNoContent)

	voucher := s.onSale("100 for 10", 20)
	s.startBuyers(voucher, 1000, 5)()
	for evaluate[bool](w, "document.querySelectorAll('tr[data-event] .tag.good').length < 5") {
		w.click("[data-act=reload]") // reloads until all were sent
	}
	w.sees(".head .tag", "Working")
	w.accessible()
	w.picture("console-webhook-desktop", false)
	w.click("tr[data-event] [data-act=again]")
	w.sees("dialog", "order-")
	w.click("dialog [data-act=yes]")
	w.seesNo("dialog")

	w.click("[data-act=edit]")
	w.until("document.querySelector('dialog input[value=\"order.paid\"]').checked")
	w.click("dialog input[value='order.paid']")
	w.click("dialog input[value='payment.retried']")
	w.click("dialog [data-act=yes]")
	w.seesNo("dialog")
	w.until("document.body.innerText.includes('Unpaid, Stuck refund tried again')")
	w.until("[...document.querySelectorAll('.plain tr')].some(r => r.innerText.includes('Types of events') && " +
		"!r.innerText.includes('Paid,'))")
	w.click("[data-act=rotate]")
	w.click("dialog [data-act=yes]")
	w.sees("[data-secret]", "whsec_")
	w.sees("dialog", "The old one keeps signing")
	w.click("[data-act=close]")
	w.click("[data-act=rotate]")
	w.click("dialog [data-act=yes]")
	w.sees("dialog [role=alert]", "less than a day ago")
	w.click("dialog [name=atOnce]")
	w.click("dialog [data-act=yes]")
	w.sees("[data-secret]", "whsec_")
	w.click("[data-act=close]")
	w.click("[data-act=replay]")
	w.click("dialog [data-act=yes]")
	w.sees("#f-from-wrong", "This is missing")
	w.accessible()
	w.setsTime("from", "2026-01-02T2000")
	w.setsTime("to", "2026-01-02T")
	w.click("dialog [data-act=yes]")
	w.sees("#f-to-wrong", "a time of day such as 20:00")
	w.setsTime("to", "2026-01-02T20:30")
	w.sees("[data-day=to]", "Fri, 2 January 2026")
	w.picture("console-webhook-period-desktop", false)
	w.click("dialog [data-act=yes]")
	w.sees("dialog [role=alert]", "no events of this period")
	w.setsTime("from", w.inHours(-1))
	w.setsTime("to", "")
	w.click("dialog [data-act=yes]")
	w.seesNo("dialog")

	status.Store(http.StatusGone)
	s.startBuyers(voucher, 2000, 1)()
	for evaluate[bool](w, "document.querySelector('.head .tag.bad') === null") {
		w.click("[data-act=reload]")
	}
	w.sees(".plain", "answered 410")
	w.accessible()
	w.picture("console-webhook-disabled-desktop", false)
	status.Store(http.StatusNoContent)
	w.click("[data-act=enable]")
	w.click("dialog [data-act=yes]")
	for evaluate[bool](w, "document.querySelectorAll('tr[data-event] .tag.good').length < 6") {
		w.click("[data-act=reload]")
	}
	w.click("[data-list=deadletter]")
	w.sees(".note", "No dead letters")
	w.click("[data-act=delete]")
	w.sees("dialog", "dead letters, are deleted")
	w.click("dialog [data-act=yes]")
	w.sees(".note", "No endpoint")
	w.visit(s.url("/admin#/audit"))
	for _, action := range []string{"create", "change", "rotate", "replay", "delete"} {
		w.sees("tr[data-action="+action+"]", "Admin 1")
	}
}

// TestWebhookTypes checks that an endpoint's form has all types of events, in the order in which they are kept, with
// texts, and those that an endpoint has of a newer service.
func TestWebhookTypes(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/admin"), desktop())
	w.sees("h1", "Console")
	want := append(dispatch.Types(), "order.newer")
	got := evaluate[[]dispatch.Type](w, `import('/assets/admin/webhooks.js')
  .then(({ typesFor }) => typesFor(['order.newer', 'order.paid']))`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types of events (-the service's +the form's):\n%s", diff)
	}
	missing := evaluate[[]dispatch.Type](w, `import('/assets/admin/texts.js')
  .then(({ TEXTS }) => import('/assets/admin/webhooks.js')
    .then(({ typesFor }) => typesFor([]).filter((type) => !TEXTS['event.' + type] && !TEXTS[type])))`)
	if len(missing) > 0 {
		t.Errorf("types without a text: %v", missing)
	}
}

// TestConsoleWebhooksVariants uses endpoints in Chinese, in dark colours, on a phone, and with the keyboard only.
func TestConsoleWebhooksVariants(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_WEBHOOK_ALLOW", "127.0.0.0/8")
	address, status := hook(t)
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/admin/webhook", admin,
		map[string]any{"shopId": 1, "url": address, "description": "Mails"}, &made)
	s.must(http.MethodPost, "/admin/webhook", admin,
		map[string]any{"shopId": 0, "url": "https://erp.example/orders", "disabled": true}, nil)
	status.Store(http.StatusInternalServerError)
	voucher := s.onSale("五折优惠券", 40)
	s.startBuyers(voucher, 100, 25)()
	one := s.url(fmt.Sprintf("/admin#/webhook/%d", made.ID))

	zh := open(t, one, s.asAdmin(desktop().in("zh-CN").inDark()))
	for evaluate[bool](zh, "!document.body.innerText.includes('连续失败')") {
		zh.click("[data-act=reload]")
	}
	zh.sees(".plain", "接收方返回 500")
	zh.accessible()
	zh.picture("console-webhook-dark-zh-desktop", false)

	small := open(t, s.url("/admin#/webhooks"), s.asAdmin(phone()))
	small.sees("tr[data-webhook]", "Failing")
	small.accessible()
	small.picture("console-webhooks-phone", false)
	small.visit(one)
	small.sees("[data-act=test]", "Send a test")
	small.accessible()
	small.picture("console-webhook-phone", false)

	w := open(t, s.url("/admin#/webhooks"), s.asAdmin(desktop()))
	w.sees("tr[data-webhook]", "Failing")
	w.picture("console-webhooks-desktop", false)
	evaluate[bool](w, "document.querySelector('tr[data-webhook] a').focus(), true")
	w.keys(kb.Enter)
	w.sees("h1", "/hooks/coupons")
	evaluate[bool](w, "document.querySelector('[data-act=disable]').focus(), true")
	w.keys(kb.Enter)
	w.sees("dialog", "Nothing more is sent")
	w.keys(kb.Escape)
	w.seesNo("dialog")
}

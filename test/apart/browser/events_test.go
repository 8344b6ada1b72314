package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"seckill/test/box"
)

// events reloads the page until it has at least so many events.
func (w *window) events(atLeast int) {
	w.tb.Helper()
	w.sees("h1", "")
	for evaluate[bool](w, fmt.Sprintf("document.querySelectorAll('tr[data-event]').length < %d", atLeast)) {
		w.click("[data-act=reload]")
	}
}

// TestConsoleEvents finds events, newest first and by type, reads one, and sends it again to an endpoint that did not
// take it: by mouse in English, by keys in Chinese, dark, and on a narrow phone.
func TestConsoleEvents(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_WEBHOOK_ALLOW", "127.0.0.0/8", "SECKILL_EVENT_KEEP", "24h")
	address, status := hook(t)
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/admin/webhook", admin,
		map[string]any{"shopId": 1, "url": address, "types": "order.unpaid"}, &made)
	status.Store(http.StatusInternalServerError)
	voucher := s.onSale("100 for 10", 50)
	s.startBuyers(voucher, 1000, 33)()

	w := open(t, s.url("/admin#/events"), s.asAdmin(desktop()))
	w.events(30) // a page; the stream opens meanwhile
	w.accessible()
	w.picture("console-events-desktop", false)
	w.click("[data-act=more]")
	w.until("document.querySelectorAll('tr[data-event]').length === 35 && " + // with the two of the sale
		"document.querySelector('tr[data-event]:last-child').innerText.includes('Sale created')")
	w.choose("#type", "sale.created")
	w.until("location.hash === '#/events?type=sale.created' && " +
		"document.querySelectorAll('tr[data-event]').length === 1")
	w.click("[data-act=open]")
	w.sees("dialog", "No endpoint takes this event")
	w.sees("dialog pre", `"title": "100 for 10"`)
	w.keys(kb.Escape)
	w.seesNo("dialog")
	w.choose("#type", "order.lapsed")
	w.sees(".note", "No event of this type")
	w.accessible()

	w.choose("#type", "order.unpaid")
	w.click("[data-act=open]")
	for evaluate[bool](w, "!document.querySelector('[data-endpoint]')?.innerText.includes('answered 500')") {
		w.click("[data-act=reload-event]")
	}
	w.sees("dialog", "Retrying")
	w.accessible()
	w.picture("console-event-desktop", false)
	status.Store(http.StatusNoContent)
	w.click("[data-endpoint] [data-act=again]")
	w.sees("dialog", "Send this event again?")
	w.click("dialog [data-act=yes]")
	for evaluate[bool](w, "document.querySelector('[data-endpoint] .tag.good') === null") {
		w.click("[data-act=reload-event]")
	}
	w.sees("[data-endpoint]", "Delivered")
	s.must(http.MethodPost, "/admin/webhook", admin, map[string]any{"shopId": 0, "url": address + "/later"}, nil)
	w.click("[data-act=reload-event]")
	w.sees("[data-endpoint]:last-child", "Older than the endpoint")

	zh := open(t, s.url("/admin#/events"), s.asAdmin(desktop().in("zh-CN").inDark()))
	zh.events(30)
	zh.accessible()
	zh.picture("console-events-dark-zh-desktop", false)
	zh.tabTo("[data-act=open]")
	zh.keys(kb.Enter)
	zh.sees("[data-endpoint]", address)
	zh.tabTo("dialog [data-act=again]")
	zh.keys(kb.Enter)
	zh.sees("dialog", "重发该事件？")
	zh.keys(kb.Escape)
	zh.sees("[data-endpoint]", address) // back where it was
	zh.accessible()
	zh.picture("console-event-dark-zh-desktop", false)

	d := phone()
	d.width = 360
	small := open(t, s.url("/admin#/events"), s.asAdmin(d))
	small.events(30)
	small.accessible()
	small.picture("console-events-phone", false)
	small.click("[data-act=open]")
	small.sees("[data-endpoint]", address)
	small.until("document.documentElement.scrollWidth <= 360 && " +
		"document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth")
	small.accessible()
	small.picture("console-event-phone", false)
}

// TestConsoleEventsStates checks what the page says while there is no list: it waits, there is no answer, nothing has
// happened, or events are not kept.
func TestConsoleEventsStates(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	for language, says := range map[string]struct{ waits, away, none, off, merchant string }{
		"": {
			"has not answered yet", "does not answer", "Nothing has happened", "SECKILL_EVENT_KEEP",
			"Events of your shop",
		},
		"zh-CN": {"服务尚未答复", "服务无响应", "暂无变更", "SECKILL_EVENT_KEEP", "贵店的事件"},
	} {
		d := s.asAdmin(desktop().in(language))
		d.script += answeredByHand("/admin/event", 10_000)
		w := open(t, s.url("/admin#/events"), d)
		w.until("lists.length === 1 && lists[0].path.includes('before=end')")
		w.sees("[data-waiting=late]", says.waits)
		w.accessible()
		evaluate[bool](w, "lists[0].fail(), true")
		w.sees("[role=alert]", says.away)
		w.until("lists.length === 2") // asked again
		evaluate[bool](w, "lists[1].answer({data: []}), true")
		w.sees(".note", says.none)
		w.accessible()

		off := open(t, s.url("/admin#/events"), s.asAdmin(desktop().in(language)))
		off.sees("[data-off]", says.off)
		off.accessible()
		off.picture("console-events-off-desktop"+language, false)
		off.click("main a[href='#/webhooks']")
		off.sees("[data-act=create]", "")

		claims := box.Claims(7, "merchant")
		claims["shop"] = 3
		merchant := open(t, s.url("/admin#/events"), desktop().in(language))
		merchant.enter("#token", box.Sign(box.Secret, claims))
		merchant.click("form .button.primary")
		merchant.sees("[data-off]", says.merchant)
	}
}

// TestConsoleEventsOfMerchant checks that a merchant reads the events of their shop.
func TestConsoleEventsOfMerchant(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_EVENT_KEEP", "24h")
	for shop, title := range map[int64]string{3: "Theirs", 4: "Of another shop"} {
		draft := box.SeckillDraft(shop, 5, time.Now(), time.Now().Add(time.Hour))
		draft["title"] = title
		s.must(http.MethodPost, "/voucher/seckill", admin, draft, nil)
	}
	claims := box.Claims(7, "merchant")
	claims["shop"] = 3
	w := open(t, s.url("/admin#/events"), desktop())
	w.enter("#token", box.Sign(box.Secret, claims))
	w.click("form .button.primary")
	w.sees("h1", "Events")
	w.choose("#type", "sale.created")
	w.events(1)
	w.click("[data-act=open]")
	w.sees("dialog pre", "Theirs")
	if n := evaluate[int](w, "document.querySelectorAll('tr[data-event]').length"); n != 1 {
		t.Errorf("they see %d events, want 1", n)
	}
}

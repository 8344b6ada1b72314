package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// replaces types a new text over the one in a field.
func (w *window) replaces(selector, text string) {
	w.tb.Helper()
	evaluate[bool](w, fmt.Sprintf("document.querySelector(%s).select(), true", quoted(selector)))
	w.enter(selector, text)
}

// sets changes a field's value, and fires the events of a field that was typed into.
func (w *window) sets(selector, value string) {
	w.tb.Helper()
	evaluate[bool](w, fmt.Sprintf("(() => { const f = document.querySelector(%s); f.value = %s; return "+
		"f.dispatchEvent(new Event('input', { bubbles: true })); })()",
		quoted(selector), quoted(value)))
}

// isRight waits until a field shows no error, neither visibly nor to assistive technology.
func (w *window) isRight(field string) {
	w.tb.Helper()
	w.seesNo(fmt.Sprintf(`[id="f-%s-wrong"]`, field))
	w.until(fmt.Sprintf(`(f => f.getAttribute('aria-invalid') === null && !(f.getAttribute('aria-describedby') ?? `+
		`'').includes('wrong'))(document.getElementsByName(%s)[0])`, quoted(field)))
}

// TestCorrectedField checks that a field's error stays until that field, or another that it depends on, is changed, and
// that the total counts the rest. The page accepts numbers as it formats them, but no incomplete times.
func TestCorrectedField(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
	w.click("[data-act=create]")
	w.enter("#f-payValue", "ten")
	w.click("[data-act=save]")
	w.sees("dialog .field-problem[role=status]", "Fields to correct: 4.")
	w.until("document.activeElement.id === 'f-title' && document.activeElement.getAttribute('aria-describedby') === " +
		"'f-title-wrong'")
	w.enter("#f-title", "A thousand for ten")
	w.isRight("title")
	w.sees("dialog .field-problem[role=status]", "Fields to correct: 3.")
	w.sees("#f-payValue-wrong", "This is not a number.")
	for field, value := range map[string]string{"payValue": "1,000.50", "actualValue": "2,000", "stock": "9,007,199"} {
		w.replaces("#f-"+field, value)
		w.isRight(field)
	}
	w.until("document.querySelector('dialog .field-problem[role=status]').textContent === ''")

	w.setsTime("endTime", "2026-01-01T10:00:00")
	w.setsTime("beginTime", "2026-01-01T11:00:00")
	w.unfold()
	w.enter("#f-visibleFrom", "0102")
	w.click("[data-act=save]")
	w.sees("#f-visibleFrom-wrong", "This time is not complete: it needs a day")
	w.setsTime("visibleFrom", "")
	w.isRight("visibleFrom")
	w.click("[data-act=save]")
	w.sees("#f-endTime-wrong", "“Begins”") // the field's label
	w.accessible()
	evaluate[bool](w, "(window.alerts = [], new MutationObserver(all => alerts.push(...all.map(m => "+
		"m.type))).observe(document.querySelector('dialog .field-problem[role=status]'), "+
		"{ childList: true, subtree: true }), true)")
	w.click("[data-act=save]") // the same error appears again
	w.until("window.alerts.length > 0")
	w.sees("#f-endTime-wrong", "“Begins”")
	w.setsTime("beginTime", w.inHours(-1))
	w.isRight("endTime")
	w.setsTime("endTime", w.inHours(1))
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.sees(tile("stock"), "9,007,199")
	w.accessible()

	w.acts("restock")
	w.enter("#f-delta", "-10,000,000")
	w.sees("dialog", "10,000,000 units are removed")
	w.click("[data-act=yes]")
	w.sees("#f-delta-wrong", "only 9,007,199 are left")
	w.replaces("#f-delta", "-1000")
	w.isRight("delta")
	w.keys(kb.Escape)
	w.seesNo("dialog")

	w.acts("guards")
	w.click(`[name="guards.limits"]`)
	w.until("document.querySelector('[name=\"guards.limits.perUser.requests\"]').value !== ''") // what is proposed
	w.sets(`[name="guards.limits.perUser.requests"]`, "")
	w.click("[data-act=save]")
	w.sees(problemAt("guards.limits.perUser.requests"), "This is missing")
	w.sets(`[name="guards.limits.perUser.seconds"]`, "") // so the pair is omitted
	w.isRight("guards.limits.perUser.requests")
	w.keys(kb.Escape)
	w.seesNo("dialog")

	w.visit(s.url("/admin#/orders?voucherId=seven"))
	w.sees("#list-trouble", "seven")
	w.replaces("#q-voucherId", "7")
	w.seesNo("#list-trouble")
	w.until("document.querySelector('#q-voucherId').getAttribute('aria-invalid') === null")
}

// TestCorrectedToken checks that the error of a token or a code stays until another one is typed, and that the field
// keeps the focus.
func TestCorrectedToken(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	s.onSale("50 for 10", 5)
	for _, page := range []struct{ path, open, press string }{
		{"/", "[data-act=account]", "dialog form button"},
		{"/admin", "#token", "form button"},
		{"/till", "#token", "form button"},
	} {
		w := open(t, s.url(page.path), desktop())
		w.click(page.open)
		w.enter("#token", "nonsense")
		w.click(page.press)
		w.sees("#token-problem", "This is not")
		w.until("document.activeElement.id === 'token' && document.activeElement.getAttribute('aria-invalid') " +
			"=== 'true'")
		w.enter("#token", "e")
		w.until("document.querySelector('#token-problem').textContent === '' && " +
			"document.activeElement.getAttribute('aria-invalid') === 'false'")
	}
	w := open(t, s.url("/till"), s.asTill(desktop()))
	w.enter("#code", "no code")
	w.click("[data-act=check]")
	w.sees(".result .says", "Not a code")
	w.until("document.querySelector('#code').getAttribute('aria-invalid') === 'true'")
	w.enter("#code", "A")
	w.seesNo(".result")
	w.until("document.querySelector('#code').getAttribute('aria-invalid') === 'false'")
}

// TestRefusalGoesWithTheState checks that the refusal of an action on an order is shown only while the order is in that
// state.
func TestRefusalGoesWithTheState(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("50 for 10", 5)
	var bought struct{ OrderID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=30s", voucher), 42, nil, &bought)
	d := s.signedIn(desktop(), 42)
	d.script += `
window.fetch = ((ask) => (path, options) => String(path).endsWith('/pay') ? Promise.resolve(new Response(
  JSON.stringify({ success: false, code: 'ORDER_STATE', errorMsg: 'It cannot be paid just now.' }), { status: 409 })) : ask(path, options))(window.fetch);`
	w := open(t, s.url("/"), d)
	w.click(".order [data-act=pay]")
	w.sees(".order [role=alert]", "cannot be paid just now")
	s.must(http.MethodPost, "/order/"+bought.OrderID+"/cancel", 42, nil, nil)
	w.sees(".order .tag", "Cancelled")
	w.seesNo(".order [role=alert]")
}

// bare finds numbers of a thousand or more without separators in what a page shows, except ids, years, code and typed
// text.
const bare = `(() => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const ids = 'code, pre, script, style, textarea, .link, .order-id, .facts, .coupon-code, .crumb, .history, h1, h2, h3, [data-label=User], [data-label=用户], [data-label=Order], [data-label=对应订单], [data-label=Content]';
  for (let node; (node = walk.nextNode());) {
    if (!node.parentElement.checkVisibility() || node.parentElement.closest(ids)) continue;
    const before = (node.previousSibling?.textContent ?? '').trim();
    const text = node.data.replace(/\b(19|20)\d\d(?=年|[-,./ ]|$)/g, '').replace(/\d{15,}/g, '').replace(/(#|User |用户 |[Tt]ill |设备 |收银台 |RFC |-voucher |:)\d+/g, '');
    const n = /(?<![\d.,:\w-])\d{4,}(?![\d\w:-])/.exec(text);
    if (n && !/(#|User|用户)$/.test(before)) found.push(node.data.trim());
  }
  return found.join(' | ');
})()`

// grouped fails the test for each number found by bare.
func (w *window) grouped() {
	w.tb.Helper()
	if found := evaluate[string](w, bare); found != "" {
		w.tb.Errorf("numbers without separators: %s", found)
	}
}

// TestGrouped checks that bare finds numbers without separators and ignores ids.
func TestGrouped(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/"), desktop())
	w.sees(button("grab"), "")
	for text, want := range map[string]bool{
		"1000 of 2,000 left": true, "¥1000": true, "1,000 left": false, "23 Nov 2026, 10:00:00 UTC": false,
		"2026年11月23日": false, "2026/11/23 UTC 16:16": false, "User 1000": false, "Order 663377700362335339": false,
		"voucher #1000": false, "10000 entries": true, "999 left": false, "127.0.0.1:45631": false, "1234.5 s": true,
	} {
		got := evaluate[string](w, fmt.Sprintf("(() => { const p = document.createElement('p'); p.textContent = %s; "+
			"document.querySelector('main').append(p); const found = %s; p.remove(); return found; })()",
			quoted(text), bare))
		if (got != "") != want || (want && !strings.Contains(text, got)) {
			t.Errorf("%q: found %q, want anything: %t", text, got, want)
		}
	}
}

package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// unfold opens all that is folded in a dialog.
func (w *window) unfold() {
	w.tb.Helper()
	evaluate[bool](w, "document.querySelectorAll('dialog details').forEach(d => { d.open = true; }), true")
}

// setsTime puts a local time, such as 2026-01-02T20:00:00, into the two fields of a moment.
func (w *window) setsTime(name, at string) {
	w.tb.Helper()
	day, clock, _ := strings.Cut(at, "T")
	w.sets("#f-"+name, day)
	w.sets(fmt.Sprintf("[name='%s.clock']", name), clock)
}

// inHours returns the local time of the page in so many hours.
func (w *window) inHours(n int) string {
	w.tb.Helper()
	return evaluate[string](w, fmt.Sprintf("new Date(Date.now() + %d * 3600e3 - new Date().getTimezoneOffset() * 60e3)"+
		".toISOString().slice(0, 19)", n))
}

// escapes presses Escape until no dialog is left: a busy browser may not have given the page the focus yet.
func (w *window) escapes() {
	w.tb.Helper()
	for begin := time.Now(); evaluate[bool](w, "document.querySelector('dialog') !== null"); w.keys(kb.Escape) {
		if time.Since(begin) > patience {
			w.tb.Fatalf("Escape closes no dialog; open, the page's focus, the element's: %s", evaluate[string](w,
				"JSON.stringify([[...document.querySelectorAll('dialog')].map(d => d.open), document.hasFocus(), "+
					"document.activeElement.outerHTML])"))
		}
	}
}

// TestFormKeepsWhatIsTyped checks that neither Escape nor a reload loses what was typed into a form, that a lost answer
// before a reload makes one voucher, and that starting over and cancelling forget the draft.
func TestFormKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	d := s.asAdmin(desktop())
	d.script += `
window.fetch = ((ask) => async (path, options) => {
  const answer = await ask(path, options);
  if (options?.method !== 'POST' || !sessionStorage.getItem('lose')) return answer;
  sessionStorage.setItem('keys', (sessionStorage.getItem('keys') ?? '') + options.headers['Idempotency-Key'] + ' ');
  throw new TypeError('lost'); // after the service has done it
})(window.fetch);`
	w := open(t, s.url("/admin#/vouchers"), d)
	title := func(want string) {
		t.Helper()
		w.until("document.querySelector('#f-title')?.value === " + quoted(want))
	}
	w.click("[data-act=create]")
	title("")
	w.enter("#f-title", "Noodles for two")
	w.sees(".preview", "Noodles for two") // as buyers will see it
	w.sees(".preview .price", "No price yet")
	w.sees(".preview .stock", "No number of units yet")
	w.replaces("#f-payValue", "10")
	w.sees(".preview .price", "¥10")
	w.click("[name=waitlist]")
	w.replaces("#f-inviteWindow", "7")
	w.click("details.part summary")
	w.click(`[name="guards.limits"]`)
	w.escapes()

	w.visit(s.url("/admin#/audit"))
	w.sees("h1", "Audit trail")
	evaluate[bool](w, "location.assign('/admin#/vouchers'), location.reload(), true")
	w.sees("h1", "Vouchers")
	w.click("[data-act=create]")
	title("Noodles for two")
	w.sees("dialog .note", "has been restored")
	w.until("document.querySelector('#f-inviteWindow').value === '7'")
	w.until(`document.querySelector('[name="guards.limits"]').checked`)
	w.accessible()
	w.picture("console-form-draft-desktop", false)

	for field, value := range map[string]string{"actualValue": "50", "stock": "5"} {
		w.replaces("#f-"+field, value)
	}
	evaluate[bool](w, "sessionStorage.setItem('lose', 'yes'), true")
	w.click("[data-act=save]")
	w.until("(sessionStorage.getItem('keys') ?? '').split(' ').length > 2") // it asks again by itself
	evaluate[bool](w, "sessionStorage.removeItem('lose'), location.reload(), true")
	w.sees("h1", "Vouchers")
	w.click("[data-act=create]")
	title("Noodles for two")
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.sees("h1", "Noodles for two")
	w.visit(s.url("/admin#/vouchers"))
	w.until("[...document.querySelectorAll('tr[data-voucher]')].filter(r => r.innerText.includes('Noodles for two'))" +
		".length === 1")
	if keys := strings.Fields(evaluate[string](w, "sessionStorage.getItem('keys')")); keys[0] != keys[1] {
		t.Errorf("the keys of one creation are %v", keys)
	}

	w.click("[data-act=create]")
	title("") // it was created
	w.enter("#f-title", "Another")
	w.keys(kb.Escape)
	w.seesNo("dialog")
	w.click("[data-act=create]")
	title("Another")
	w.click("[data-act=anew]")
	title("")
	w.enter("#f-title", "A third")
	w.click("[data-act=cancel]")
	w.sees("dialog", "Discard what you typed?")
	w.accessible()
	w.keys(kb.Escape)
	w.until("document.querySelectorAll('dialog').length === 1")
	title("A third")
	w.click("[data-act=cancel]")
	w.click("dialog [data-act=yes]")
	w.seesNo("dialog")
	w.click("[data-act=create]")
	title("")
	w.enter("#f-title", "Somebody else's")
	w.keys(kb.Escape)
	w.seesNo("dialog")
	w.click("[data-act=sign-out]")
	w.until("!Object.keys(sessionStorage).some(key => key.startsWith('seckill.draft'))")
}

// TestFormOfMoments checks that times of day are typed with 24 hours, that Ends keeps its distance from Begins, that a
// price above the value is asked about once, and that it is seen what was created.
func TestFormOfMoments(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(device{name: "narrow", width: 360, height: 740}.inDark()))
	w.click("[data-act=create]")
	w.sees("dialog", "New voucher")
	for name, value := range map[string]string{
		"title": "Dear noodles", "payValue": "30", "actualValue": "20", "stock": "5",
	} {
		w.sets("#f-"+name, value)
	}
	w.sees("[data-dear]", "The price is higher than the value")
	w.setsTime("beginTime", "2036-01-02T10:00:00")
	w.setsTime("endTime", "2036-01-02T12:30:00")
	w.replaces("[name='beginTime.clock']", "23")
	w.keys(kb.Tab)
	w.until("document.querySelector(\"[name='beginTime.clock']\").value === '23:00'")
	w.until("document.querySelector('#f-endTime').value === '2036-01-03' && " +
		"document.querySelector(\"[name='endTime.clock']\").value === '01:30'")
	w.sees("[data-day=endTime]", "Thu, 3 January 2036")
	evaluate[bool](w, "document.querySelector('#f-beginTime').scrollIntoView(), true")
	w.picture("console-form-times-narrow-dark", false)
	w.replaces("[name='beginTime.clock']", "25:00")
	w.click("[data-act=save]")
	w.sees("#f-beginTime-wrong", "a time of day such as 20:00")
	w.replaces("[name='beginTime.clock']", "2000")
	w.isRight("beginTime")
	w.sees("[data-day=endTime]", "Wed, 2 January 2036")

	w.keys(kb.Enter)
	w.sees("dialog", "Sell it for more than it is worth?")
	w.accessible()
	w.picture("console-form-dear-narrow-dark", false)
	w.keys(kb.Escape)
	w.until("document.querySelectorAll('dialog').length === 1")
	w.click("[data-act=save]")
	w.click("dialog [data-act=yes]")
	w.seesNo("dialog")
	w.sees("#notice .notice", "Created: the sale begins 2 Jan 2036, 20:00")
	w.accessible()
	w.picture("console-created-narrow-dark", false)
	w.click("#notice .notice")
	w.seesNo("#notice .notice")

	got := evaluate[string](w, `import('/assets/admin/times.js').then(({ clock }) =>
  ['20:00', '8', '8.30', '800', '２０：００', '23:59:59', '24:00', '8:60', '8 pm', ''].map(clock).join())`)
	if want := "20:00,08:00,08:30,08:00,20:00,23:59:59,,,,"; got != want {
		t.Errorf("times of day are read as %s, want %s", got, want)
	}
}

// TestSaleSaysWhatWillHappen checks what decides about the words of a sale's dialogs, and them for a paused sale.
func TestSaleSaysWhatWillHappen(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	voucher := s.onSale("Noodles for two", 40)
	w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(desktop()))
	w.sees("[data-guard-line]", "No guard against bots is on.")
	w.click("[data-act=guard-line]")
	w.click("[data-act=recommend]")
	w.sees(".guards", "what still helps while the sale runs: Limits, Conditions, Cool-down, Shares.")
	w.until(`[...document.querySelectorAll('[role=switch]')].filter((e) => e.checked).length === 4`)
	w.sees("[data-unsold]", "stay unsold")
	w.accessible()
	w.picture("console-guards-recommended-desktop", false)
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.sees("[data-guard-line]", "Guards against bots: Limits, Conditions, Cool-down, Shares.")
	got := evaluate[string](w, `import('/assets/admin/actions.js').then(({ phaseOf }) => {
  const at = (minutes) => new Date(minutes * 6e4).toISOString();
  const sale = (fields) => phaseOf({ status: 1, saleState: 'on_sale', beginTime: at(10), endTime: at(20), ...fields }, 15 * 6e4);
  return [sale({}), sale({ saleState: 'sold_out' }), sale({ beginTime: at(16) }), sale({ saleState: 'paused', beginTime: at(16) }),
    sale({ status: 2, saleState: 'paused' }), sale({ stale: true }), sale({ endTime: at(15), status: 2 }), phaseOf({ status: 1 }, 0)].join();
})`)
	if want := "running,running,coming,paused,off_shelf,unknown,ended,running"; got != want {
		t.Errorf("the phases are %s, want %s", got, want)
	}
	w.acts("pause")
	w.click("[data-act=yes]")
	w.sees("#notice .notice", "The sale is paused.")
	w.sees(".head .tag", "Paused")
	w.acts("restock")
	w.enter("#f-delta", "200")
	w.sees("dialog", "200 more units: 240 are left then. The sale is paused: they go on sale when you resume it.")
	w.picture("console-stock-paused-desktop", false)
}

// TestFormShowsEveryProblem checks that all that the page can know to be wrong is said at once, also in what is folded,
// and that each problem leads to its field.
func TestFormShowsEveryProblem(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(phone()))
	w.click("[data-act=create]")
	for field, value := range map[string]string{
		"title": strings.Repeat("n", 256), "payValue": "ten", "actualValue": "0", "stock": "2.5", "perUser": "21",
		"payWithin": "0", "validDays": "3651",
	} {
		w.sets("#f-"+field, value)
	}
	w.setsTime("endTime", "2026-01-01T10:00:00")
	w.setsTime("beginTime", "2026-01-01T11:00:00")
	w.setsTime("visibleFrom", "2027-01-01T12:00:00")
	w.click("details.part summary")
	w.click(`[name="guards.limits"]`)
	w.until("document.querySelector('[name=\"guards.limits.perUser.requests\"]').value !== ''")
	w.sets(`[name="guards.limits.perUser.requests"]`, "2000000")
	w.click("[data-act=save]")
	for field, says := range map[string]string{
		"title": "has 256 characters", "payValue": "This is not a number", "actualValue": "an amount from 0.01",
		"stock": "is 2.5, a fraction", "perUser": "a whole number from 1 to 20", "payWithin": "is 0",
		"validDays": "a whole number from 1 to 3,650", "endTime": "This must be later than “Begins”.",
		"visibleFrom": "is after “Begins”", "guards.limits.perUser.requests": "from 1 to 1,000,000",
	} {
		w.sees(problemAt(field), says)
	}
	w.sees("dialog .foot", "Fields to correct: 10.")
	w.accessible()
	w.picture("console-form-all-wrong-phone", false)
	evaluate[bool](w, "document.querySelector('details.part').open = false, true")
	w.click(`.jump[data-field="guards.limits.perUser.requests"]`)
	w.until("document.activeElement.getAttribute('aria-invalid') === 'true' && " +
		"document.activeElement.checkVisibility()")
}

// TestFormKeepsWhatIsHidden checks that what was typed into fields that a choice hides is there when they are shown
// again, that a limit of a flash sale is none of an ordinary voucher, and that the page says that a template was not
// saved until that is clicked away.
func TestFormKeepsWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	d := s.asAdmin(phone().inDark())
	d.script += `
window.fetch = ((ask) => async (path, options) => {
  if (options?.method !== 'POST' || !String(path).endsWith('/admin/template')) return ask(path, options);
  const answer = { success: false, code: 'CONFLICT', errorMsg: 'There is no room.' };
  return new Response(JSON.stringify(answer), { status: 409 });
})(window.fetch);`
	w := open(t, s.url("/admin#/vouchers"), d)
	w.click("[data-act=create]")
	for field, value := range map[string]string{"title": "Tea", "payValue": "10", "actualValue": "20", "stock": "7"} {
		w.sets("#f-"+field, value)
	}
	w.unfold()
	const requests = "guards.limits.perUser.requests"
	field := func(name, want string) {
		t.Helper()
		w.until(fmt.Sprintf("document.getElementsByName('%s')[0]?.value === '%s'", name, want))
	}
	w.click(`[name="guards.limits"]`)
	w.until("document.getElementsByName('" + requests + "')[0]?.value > 0")
	w.types(requests, "5")
	w.click(`[name="guards.limits"]`)
	w.until("!document.getElementsByName('" + requests + "')[0]")
	w.click(`[name="guards.limits"]`)
	field(requests, "5")
	w.click(".kinds label:nth-of-type(2) input")
	field("perUser", "")
	w.until("!document.querySelector('#f-stock')")
	w.click(".kinds label:nth-of-type(1) input")
	field("stock", "7")
	field("perUser", "1")
	field(requests, "5")
	w.unfold()
	w.click(`[name="guards.limits"]`)
	w.until("!document.getElementsByName('" + requests + "')[0]")
	w.enter("#f-crowd", "900")
	w.click("[data-act=propose]")
	w.sees("[data-guard=limits] .field-hint", "from a user")
	w.until("[...document.querySelectorAll('.guards [role=status]')].some(p => p.innerText.includes('900'))")
	w.click(`[name="guards.limits"]`)
	w.until("document.getElementsByName('" + requests + "')[0]?.value > 5") // the proposal is of all guards
	w.click(`[name="guards.limits"]`)

	w.enter("#f-template", "Tea time")
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.sees("#notice .notice.warn", "not saved as the template “Tea time”: There is no room.")
	w.accessible()
	w.picture("console-template-unsaved-phone", false)
	w.click("#notice .notice")
	w.seesNo("#notice .notice")
}

// TestFormSaysThatEndsFollows checks that the form of a sale to come says that Ends moves with Begins, at both fields
// of the moment, and that of one which has begun does not.
func TestFormSaysThatEndsFollows(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	coming := s.offer("Tonight", 10, time.Now().Add(time.Hour), time.Now().Add(2*time.Hour), "not_started")
	begun := s.onSale("Now", 10)
	w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", coming)), s.asAdmin(desktop()))
	w.sees("[role=timer][aria-label]", "")
	w.acts("edit")
	w.sees("#f-endTime-hint", "It moves along")
	w.until("['#f-endTime', '[name=\"endTime.clock\"]'].every((field) => " +
		"document.querySelector(field).getAttribute('aria-describedby') === 'f-endTime-hint')")
	w.accessible()
	w.escapes()
	w.visit(s.url(fmt.Sprintf("/admin#/voucher/%d", begun)))
	w.acts("edit")
	w.until("document.querySelector('#f-title')?.value === 'Now'")
	w.seesNo("#f-endTime-hint")
}

package browser

import (
	"fmt"
	"net/http"
	"testing"
)

// types replaces the text in a field of the form.
func (w *window) types(name, value string) {
	w.tb.Helper()
	w.sets("dialog [name='"+name+"']", value)
}

// problemAt returns the selector of the error at a field whose name has dots.
func problemAt(name string) string { return fmt.Sprintf(`[id="f-%s-wrong"]`, name) }

// TestConsoleGuards creates a sale with guards (after invalid ones), watches them work, and changes them while the sale
// runs.
func TestConsoleGuards(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_GUARD_SECRET", "q7x!mEr2-only-for-guards-Zk91-tests-88")
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
	w.click("[data-act=create]")
	w.sees("dialog", "New voucher")
	for name, value := range map[string]string{
		"title": "Guarded", "payValue": "10", "actualValue": "100", "stock": "500",
	} {
		w.types(name, value)
	}
	w.setsTime("beginTime", w.inHours(-1))
	w.click("summary")
	w.sees("[data-guard=limits]", "10 in 10 s from a user")
	w.sees("[data-guard=limits]", "Honest buyers: ")
	w.click(`[name="guards.limits"]`)
	w.click(`[name="guards.conditions"]`)
	w.click(`[name="guards.conditions.dryRun"]`)
	w.click("[data-guard=conditions] summary")
	w.sees("[data-guard=conditions]", "Minimum age of the account")
	w.types("guards.limits.perUser.requests", "many")
	w.types("guards.limits.perUser.seconds", "60")
	w.types("guards.limits.perAddress.requests", "")
	w.types("guards.limits.perAddress.seconds", "10")
	w.click("[data-act=save]")
	w.sees(problemAt("guards.limits.perUser.requests"), "not a whole number")
	w.sees(problemAt("guards.limits.perAddress.requests"), "This is missing")
	w.until("document.activeElement.name === 'guards.limits.perAddress.requests'")
	w.accessible()
	w.picture("console-guards-form-desktop", false)
	w.types("guards.limits.perAddress.seconds", "")
	w.types("guards.limits.perUser.requests", "0")
	w.click("[data-act=save]")
	w.sees(problemAt("guards.limits.perUser.requests"), "a whole number from 1 to 1,000,000")
	w.types("guards.limits.perUser.requests", "2")
	w.types("guards.limits.perNetwork.requests", "1000000")
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.sees(".tag", "On sale")
	w.sees("[data-guards] [data-guard=limits]", "On")
	w.sees("[data-guards] [data-guard=conditions]", "Dry run")
	voucher := evaluate[int64](w, "Number(location.hash.split('/')[2])")

	s.startCrowd(voucher, 1000, 120)()
	for range 5 {
		s.startBuyers(voucher, 100, 10)()
	}
	cells := func(guard string) string {
		return fmt.Sprintf(
			"[...document.querySelectorAll('[data-guards] [data-guard=%s] td')].map(c => c.innerText).join()", guard)
	}
	w.until(cells("limits") + " === 'On,30,0'")
	w.until(cells("conditions") + " === 'Dry run,0,140'")
	w.sees("[data-guards]", "Units, by age of the account")
	w.sees("[data-guards]", "127.0.0.0/24")
	w.accessible()
	w.picture("console-guards-desktop", true)

	w.acts("guards")
	w.sees("dialog", "Guards against bots of “Guarded”")
	w.until(`document.querySelector('[name="guards.limits.perUser.requests"]').value === '2' && ` +
		`document.querySelector('[name="guards.limits.perAddress.requests"]').value === ''`)
	w.click(`[name="guards.limits"]`)
	w.until("[...document.querySelectorAll('dialog [data-guard]')].map(g => g.dataset.guard).join() === " +
		"'limits,conditions,coolDown,units,challenge,tickets'") // those first that help a sale which has begun
	w.sees("[data-guard=tickets] [data-late]", "Too late to help by itself")
	w.click(`[name="guards.challenge"]`)
	w.until(`document.querySelector('[name="guards.tickets"]').checked`) // a challenge is solved for a ticket
	w.click(`[name="guards.tickets"]`)
	w.until(`!document.querySelector('[name="guards.challenge"]').checked`)
	w.click(`[name="guards.challenge"]`)
	w.click("[data-guard=challenge] summary")
	w.sees("[data-guard=challenge]", "Most tries")
	w.types("guards.challenge.difficulty", "32")
	w.types("guards.challenge.maxDifficulty", "16")
	w.click("[data-act=save]")
	w.sees(problemAt("guards.challenge.maxDifficulty"), "is below “Most tries”")
	w.accessible()
	w.enter("#f-crowd", "10000")
	w.click("[data-act=propose]")
	w.sees(".guards", "a delay of 20 s")
	w.sees(".guards", "no guard was turned on")
	w.sees("[data-unsold]", "sells out only if its buyers come from at least 19 networks") // 27 units to each
	w.sees("[data-unsold]", "in two, 446 of 500 units stay unsold")
	w.accessible()
	w.picture("console-guards-proposal-desktop", false)
	w.until(`document.querySelector('[name="guards.tickets.delayMs"]').value === '20000'`)
	w.click(`[name="guards.coolDown"]`)
	w.click(`[name="guards.coolDown.dryRun"]`)
	w.click("[data-guard=coolDown] summary")
	w.sees("[data-guard=coolDown]", "Expired orders")
	w.accessible()
	w.picture("console-guards-change-desktop", false)
	s.must(http.MethodPatch, fmt.Sprintf("/voucher/%d", voucher), admin, map[string]any{
		// Another admin changes the guards meanwhile.
		"guards": map[string]any{"conditions": map[string]any{"minLevel": 0, "minAgeDays": 1}},
	}, nil)
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.sees("#notice .notice", "On now: Cool-down (dry run), Tickets, Challenge. Off now: Limits.")
	w.until(cells("limits") + " === 'Off,30,0'")
	w.sees("[data-guard-line]", "Guards against bots: Conditions, Cool-down (dry run), Tickets, Challenge.")
	w.sees("[data-guards] [data-guard=tickets]", "All moments are over")
	w.sees("[data-guards] [data-guard=conditions]", "On") // the dialog sent only its own changes
	w.sees("[data-guards] [data-guard=coolDown]", "Dry run")
	w.visit(s.url(fmt.Sprintf("/admin#/report/%d", voucher)))
	w.until(cells("limits") + " === 'Off,30,0'")
	w.sees("[data-guards]", "127.0.0.0/24")
	w.accessible()
	w.visit(s.url("/admin#/audit"))
	w.sees("tr[data-action=change]", "Limits On: 1,000,000 in 10 s from a network, 2 in 60 s")
	w.until("!document.querySelector('main').innerText.includes('{')") // in words
	w.picture("console-guards-audit-desktop", false)

	zh := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(phone().in("zh-CN").inDark()))
	zh.sees("[data-guards] [data-guard=tickets]", "开启")
	zh.accessible()
	zh.acts("guards")
	zh.sees("dialog", "为每位买家分配各自的开抢时刻")
	zh.sees("dialog", "最长延迟") // the values of a guard that is set are unfolded
	zh.click("[data-act=propose]")
	zh.sees("[data-unsold]", "个网段才能售完")
	zh.picture("console-guards-proposal-phone-dark-zh", false)
	zh.accessible()
	zh.picture("console-guards-phone-dark-zh", false)
}

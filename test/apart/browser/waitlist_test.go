package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/test/box"
)

// soldOutWithList creates a sale of one unit with a waiting list; user 7 buys the unit. It returns the voucher and that
// order.
func (s *shop) soldOutWithList(seconds int64) (voucher int64, bought string) {
	s.tb.Helper()
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/voucher/seckill", admin, map[string]any{
		"shopId": 1, "title": "50 for 10", "subTitle": "In the old town", "payValue": 1000, "actualValue": 5000,
		"stock": 1, "beginTime": time.Now().Add(-time.Hour), "endTime": time.Now().Add(26 * time.Hour),
		"waitlistWindowSeconds": seconds,
	}, &made)
	s.awaitState(made.ID, "on_sale")
	var order struct{ OrderID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=30s", made.ID), 7, nil, &order)
	s.awaitState(made.ID, "sold_out")
	return made.ID, order.OrderID
}

// invited waits until the user is invited to take a unit.
func (s *shop) invited(voucher, user int64) {
	s.tb.Helper()
	box.Eventually(s.tb, fmt.Sprintf("user %d being invited", user), func() error {
		var place struct{ State string }
		if s.must(http.MethodGet, onList(voucher, ""), user, nil, &place); place.State != "invited" {
			return fmt.Errorf("it is %s", place.State)
		}
		return nil
	})
}

// onList returns the route for a step on a sale's waiting list.
func onList(voucher int64, step string) string {
	return fmt.Sprintf("/voucher/%d/waitlist%s", voucher, step)
}

// TestWaitingList checks that a buyer joins the list of a sold-out sale, sees how many wait ahead, is invited as soon
// as it is their turn, and accepts.
func TestWaitingList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		device                                                                  device
		join, sign, waiting, ahead, first, leave, invited, title, kept, pay, ok string
	}{
		{
			desktop(), "Join the waiting list", "Sign in to wait", "You are on the waiting list",
			"Ahead of you: 1.", "Nobody is ahead of you", "Leave the waiting list",
			"Take it for ¥10", "A unit is kept for you", "kept for you, for 09:", "Pay ¥10", "unpaid",
		},
		{
			phone().in("zh-CN").inDark(), "加入候补", "登录后候补", "候补中", "前面还有 1 人", "您排在最前面", "退出候补", "¥10 立即领取", "已为您保留名额",
			"请在 09:", "支付 ¥10", "unpaid",
		},
		{
			phone(), "Join the waiting list", "Sign in to wait", "You are on the waiting list",
			"Ahead of you: 1.", "Nobody is ahead of you", "Leave the waiting list",
			"Take it for ¥10", "A unit is kept for you", "kept for you, for 09:", "Pay ¥10", "unpaid",
		},
	} {
		name := tt.device.name + tt.device.language
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := realShop(t)
			voucher, order := s.soldOutWithList(600)
			s.must(http.MethodPost, onList(voucher, ""), 8, nil, nil) // waits before the buyer
			w := open(t, s.url("/"), tt.device)
			w.sees(button("waitable"), tt.join)
			w.accessible()
			w.picture("buyer-waitable-"+name, false)

			w.click(button("waitable"))
			w.sees("dialog", tt.sign)
			w.enter("#token", s.token(42))
			w.click("dialog form button")
			w.sees(button("waiting"), tt.waiting)
			w.sees(".card-note", tt.ahead)
			w.accessible()
			w.picture("buyer-waiting-"+name, false)
			w.click(button("waiting")) // must do nothing

			s.must(http.MethodPost, onList(voucher, "/leave"), 8, nil, nil)
			w.sees(".card-note", tt.first)
			w.sees("[data-act=leave]", tt.leave)

			// Nothing is offered yet.
			w.until(`!document.querySelector("[data-place]").innerText.includes("offer")`)
			w.visit(s.url("/")) // a reloaded page knows the place
			w.sees(button("waiting"), tt.waiting)
			s.must(http.MethodPost, "/order/"+order+"/cancel", 7, nil, nil)
			w.sees(button("invited"), tt.invited)
			w.sees(".card-note", tt.kept)
			w.until("document.title.includes(" + quoted(tt.title) + ")")
			w.accessible()
			w.picture("buyer-invited-"+name, false)

			w.click(button("invited"))
			w.sees(button("unpaid"), tt.pay)
			w.until("!document.title.includes(" + quoted(tt.title) + ")")
			w.accessible()
			if got, want := fmt.Sprint(s.orders(42)), fmt.Sprintf("[%d unpaid]", voucher); got != want {
				t.Errorf("the buyer has %s, want %s", got, want)
			}
		})
	}
}

// TestLeaveTheWaitingList checks that a buyer must confirm giving up a place or an invitation, and that the unit goes
// to the next user.
func TestLeaveTheWaitingList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		device                                      device
		leaveAsk, join, declineAsk, declineSays, no string
	}{
		{
			phone().inDark(), "Leave the waiting list?", "Join the waiting list", "Let it go?",
			"goes to the next", "Keep it",
		},
		{desktop().in("zh-CN"), "确定退出候补？", "加入候补", "确定放弃？", "转给下一位候补者", "再想想"},
	} {
		name := tt.device.name + tt.device.language
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := realShop(t)
			voucher, order := s.soldOutWithList(600)
			w := open(t, s.url("/"), s.signedIn(tt.device, 42))
			w.click(button("waitable"))
			w.click("[data-act=leave]")
			w.sees("dialog", tt.leaveAsk)
			w.accessible()
			w.picture("buyer-waiting-leave-"+name, false)
			w.click("dialog .button.danger")
			w.sees(button("waitable"), tt.join)

			w.click(button("waitable"))
			w.sees(button("waiting"), "")
			s.must(http.MethodPost, onList(voucher, ""), 9, nil, nil)
			s.must(http.MethodPost, "/order/"+order+"/cancel", 7, nil, nil)
			w.click("[data-act=decline]")
			w.sees("dialog", tt.declineAsk)
			w.sees("dialog", tt.declineSays)
			w.sees("dialog .button.quiet", tt.no)
			w.click("dialog .button.quiet")
			w.seesNo("dialog")
			w.sees(button("invited"), "")
			w.click("[data-act=decline]")
			w.click("dialog .button.danger")
			w.sees(button("waitable"), tt.join)
			s.invited(voucher, 9)
		})
	}
}

// TestOlderAnswerAboutAPlace checks that an answer about a place that was asked for before the buyer left, accepted or
// said something, or before another answer, changes nothing.
func TestOlderAnswerAboutAPlace(t *testing.T) {
	t.Parallel()
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, moves+`import('/assets/buyer/places.js').then(async ({ Places }) => {
  const run = async (before, act, after) => {
    const events = [], answers = [];
    const place = (state, standing) => ({ success: true, data: { voucherId: 7, state, standing } });
    const acts = async () => (moves(), place(after, true));
    const client = {
      places: async () => ({ success: true, data: [place(before).data] }), leaveWaitlist: acts, acceptInvitation: acts,
      joinWaitlist: acts, place: () => new Promise((answer) => answers.push(answer)),
    };
    const places = new Places(client, {}, { changed() {}, acted() {}, refused() {},
      notify: (event) => events.push(event), bought: () => events.push('ordered') });
    const voucher = { id: 7, waitlistWindowSeconds: 60 };
    const asks = async () => {
      const n = answers.length, read = places.reread([voucher]);
      while (answers.length === n) await null;
      return (state) => (answers[n](place(state)), read);
    };
    await places.read([voucher]);
    const older = await asks();
    if (act) await places[act](voucher, true);
    else moves(), await (await asks())(after);
    await older(before);
    return [places.of(7).state, places.of(7).standing ?? '', ...events].join(' ');
  };
  return [await run('waiting', 'leave', 'left'), await run('invited', 'accept', 'bought'),
    await run('waiting', 'say', 'waiting'), await run('waiting', '', 'invited')].join();
})`)
	if want := "left true left,bought true invited ordered,waiting true,invited  invited"; got != want {
		t.Errorf("shown and told: %s, want %s", got, want)
	}
}

// TestMissedInvitation checks that an invitation counts down to its end, and that the page then says what missing it
// has cost and what missing the next one would.
func TestMissedInvitation(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher, order := s.soldOutWithList(30) // a slow page has time to show it and its end
	s.must(http.MethodPost, onList(voucher, ""), 42, nil, nil)
	s.must(http.MethodPost, onList(voucher, ""), 9, nil, nil)
	w := open(t, s.url("/"), s.signedIn(phone(), 42))
	w.sees(button("waiting"), "")
	// Records what the page shows, because under load a poll from outside may come too late.
	evaluate[bool](w, `(() => {
  const seen = window.seen = { states: ['waiting'], notes: new Set() };
  new MutationObserver(() => {
    const { state } = document.querySelector('.card button[data-state]').dataset;
    if (state !== 'passing' && seen.states.at(-1) !== state) seen.states.push(state);
    if (state === 'invited') seen.notes.add(document.querySelector('.card-note').innerText);
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  return true;
})()`)
	s.must(http.MethodPost, "/order/"+order+"/cancel", 7, nil, nil)
	w.until("seen.states.includes('invited') && seen.notes.size > 1") // it counts
	w.sees(".card-note", "You did not answer in time")
	w.sees(button("waiting"), "You are on the waiting list")
	if got, want := evaluate[string](w, "seen.states.join()"), "waiting,invited,waiting"; got != want {
		t.Errorf("the page went through %s, want %s", got, want)
	}
	const counts = `/kept for you, for 00:\d\d\. After that it goes to the next buyer/`
	if got := evaluate[string](w, "[...seen.notes].filter(n => !"+counts+".test(n)).join()"); got != "" {
		t.Errorf("an invitation of 30 s said %q", got)
	}
	w.accessible()
	w.picture("buyer-missed-phone", false)
}

// TestConsoleWaitingList checks that the form gives a sale a waiting list, that the sale's page shows the places by
// state, that the report shows how the places ended, and that an invalid time is reported at its field.
func TestConsoleWaitingList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		device                          device
		list, wrong, waiting, sum, pass string
	}{
		{
			desktop(), "Waiting list", "a number from 0.5 to 10,080", "Waiting",
			"1 issued = 0 left + 1 kept + 0 waiting + 0 recorded", "Declined",
		},
		{phone().in("zh-CN").inDark(), "候补名单", "（0.5 到 10,080，或不启用候补名单）", "候补中", "发放 1 = 剩余 0 + 候补保留 1", "放弃"},
	} {
		name := tt.device.name + tt.device.language
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := realShop(t)
			voucher, order := s.soldOutWithList(600)
			for user := int64(21); user <= 24; user++ {
				s.must(http.MethodPost, onList(voucher, ""), user, nil, nil)
			}
			s.must(http.MethodPost, "/order/"+order+"/cancel", 7, nil, nil)
			s.invited(voucher, 21)
			s.must(http.MethodPost, onList(voucher, "/leave"), 21, nil, nil)
			s.invited(voucher, 22)
			w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(tt.device))
			w.sees("[data-waitlist] h2", tt.list)
			w.sees("[data-places=waiting]", tt.waiting)
			w.until("document.querySelector('[data-places=waiting] td').innerText === '2' && " +
				"document.querySelector('[data-places=invited] td').innerText === '1'")
			w.sees("[data-balance=balanced]", tt.sum)
			w.accessible()
			w.picture("console-waitlist-"+name, true)

			w.acts("copy")
			w.until("document.querySelector('#f-inviteWindow').value === '10'")
			evaluate[bool](w, "document.querySelector('#f-inviteWindow').value = '0.01', true")
			w.click("[data-act=save]")
			w.sees("#f-inviteWindow-wrong", tt.wrong)
			w.accessible()
			w.picture("console-waitlist-form-"+name, false)
			evaluate[bool](w, "document.querySelector('#f-inviteWindow').value = '2.5', true")
			w.click("[data-act=save]")
			w.seesNo("dialog")
			w.sees("[data-waitlist]", "150")

			w.visit(s.url(fmt.Sprintf("/admin#/report/%d", voucher)))
			w.sees("[data-places=declined]", tt.pass)
			w.until("['joined 4', 'waiting 2', 'invited 2', 'open 1', 'accepted 0', 'bought 0', 'declined 1'].every(" +
				"f => document.querySelector(`[data-places=${f.split(' ')[0]}] td`).innerText === f.split(' ')[1])")
			w.accessible()
			w.picture("console-report-waitlist-"+name, true)
		})
	}
}

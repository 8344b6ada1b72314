package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// guardSecret is the secret for signing the shop's tickets.
var guardSecret = strings.Repeat("of the guards 7!", 2)

// heldWork makes the page's workers hold back their solutions until the test has seen the page without them.
const heldWork = `window.Worker = class extends Worker {
  set onmessage(f) {
    super.onmessage = (e) => {
      if (!e.data.payload) return f(e);
      const timer = setInterval(() => window.workDone && (clearInterval(timer), f(e)), 20);
    };
  }
};`

// withTickets creates a sale that begins after the given time and issues tickets, with work, from an hour before.
func (s *shop) withTickets(title string, after time.Duration, guards map[string]any) int64 {
	s.tb.Helper()
	guards["tickets"] = map[string]any{"delayMs": 3000, "leadMinutes": 60, "expiryMinutes": 30}
	guards["challenge"] = map[string]any{"difficulty": 16, "maxDifficulty": 64}
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/voucher/seckill", admin, map[string]any{
		"shopId": 1, "title": title, "subTitle": "In the old town", "payValue": 1000, "actualValue": 5000, "stock": 5,
		"beginTime": time.Now().Add(after), "endTime": time.Now().Add(26 * time.Hour), "guards": guards,
	}, &made)
	s.awaitState(made.ID, "not_started")
	return made.ID
}

// begins moves a sale's start to the given time from now.
func (s *shop) begins(voucher int64, after time.Duration) {
	s.tb.Helper()
	s.must(http.MethodPatch, fmt.Sprintf("/voucher/%d", voucher), admin,
		map[string]any{"beginTime": time.Now().Add(after)}, nil)
}

// TestPressBeforeTheMoment checks that the page says when tickets are issued, does the work for one while it stays
// usable, keeps a press before the buyer's moment, and sends it at that moment.
func TestPressBeforeTheMoment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		device                                            device
		from, early, press, working, work, kept, withdraw string
	}{
		{
			phone(), "press early", "Press early for ¥10", "moment of their own", "Fetching your ticket",
			"a small task", "Sent in", "Withdraw",
		},
		{phone().in("zh-CN"), "可提前预约", "预约抢购", "各自的开抢时刻", "正在领取抢购资格", "完成一次验证", "后自动提交", "取消预约"},
		{
			desktop().inDark(), "press early", "Press early for ¥10", "moment of their own", "Fetching your ticket",
			"a small task", "Sent in", "Withdraw",
		},
		{desktop().in("zh-CN"), "可提前预约", "预约抢购", "各自的开抢时刻", "正在领取抢购资格", "完成一次验证", "后自动提交", "取消预约"},
	} {
		name := tt.device.name + tt.device.language
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			s := realShop(t, "SECKILL_GUARD_SECRET", guardSecret)
			voucher := s.withTickets("50 for 10", 2*time.Hour, map[string]any{})
			d := s.signedIn(tt.device, 42)
			d.script += heldWork
			w := open(t, s.url("/"), d)
			w.sees(button("not_started"), "")
			w.sees(".card-note", tt.from)
			w.accessible()
			w.picture("buyer-tickets-later-"+name, false)

			s.begins(voucher, 50*time.Minute)
			w.visit(s.url("/"))
			w.sees(button("early"), tt.early)
			w.sees(".card-note", tt.press)
			w.accessible()
			w.picture("buyer-tickets-early-"+name, false)

			w.click(button("early"))
			w.sees(button("ticket"), tt.working)
			w.sees(".card-note", tt.work)
			w.sees("progress.work", "")
			w.accessible()
			w.picture("buyer-tickets-work-"+name, false)

			evaluate[bool](w, "window.workDone = true")
			w.sees(button("kept"), tt.kept)
			w.seesNo("progress.work")
			w.accessible()
			w.picture("buyer-tickets-kept-"+name, false)
			w.sees("[data-act=withdraw]", tt.withdraw)
			w.click("[data-act=withdraw]")
			w.sees(button("early"), tt.early)
			w.click(button("early"))
			w.sees(button("kept"), tt.kept)
			if got := w.purchases(); got != 0 {
				t.Errorf("%d orders were sent before the moment", got)
			}

			s.begins(voucher, 2*time.Second)
			w.visit(s.url("/"))
			w.sees(".card-act button", "")
			w.click(".card-act button")
			// The start, and so the moment, was moved: the page learns that from another ticket.
			evaluate[bool](w, "window.workDone = true")
			w.sees(button("unpaid"), "¥10")
			if got, want := fmt.Sprint(s.orders(42)), fmt.Sprintf("[%d unpaid]", voucher); got != want {
				t.Errorf("the buyer has %s, want %s", got, want)
			}
		})
	}
}

// TestKeptPressIsSentAtTheMoment checks that nobody needs to touch the page between the press and the order. The start
// comes after the press is kept, however long that takes.
func TestKeptPressIsSentAtTheMoment(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_GUARD_SECRET", guardSecret)
	w := open(t, s.url("/"), s.signedIn(desktop(), 42))
	voucher := s.withTickets("50 for 10", 50*time.Minute, map[string]any{})
	w.visit(s.url("/"))
	w.sees(button("early"), "")
	w.click(button("early"))
	w.sees(button("kept"), "")
	s.begins(voucher, 2*time.Second)
	// Makes the page read the new start now instead of within 25 s.
	evaluate[bool](w, "document.dispatchEvent(new Event('visibilitychange'))")
	w.sees(button("unpaid"), "Pay ¥10")
	if got, want := fmt.Sprint(s.orders(42)), fmt.Sprintf("[%d unpaid]", voucher); got != want {
		t.Errorf("the buyer has %s, want %s", got, want)
	}
	if got := w.purchases(); got > 3 {
		t.Errorf("%d orders were sent, want one at the moment", got)
	}
}

// TestStartMovesWhileItsTicketComes checks that a kept press is sent at the moment of the new start where the list says
// that the start was moved while an answer with the old one is under way.
func TestStartMovesWhileItsTicketComes(t *testing.T) {
	t.Parallel()
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, `import('/assets/buyer/shop.js').then(({ Shop }) => new Promise((done) => {
  const at = (ms) => new Date(Date.now() + ms).toISOString();
  const old = at(3.6e6), moved = at(-1000), asked = [];
  const sale = (beginTime) => ({ id: 7, type: 1, status: 1, beginTime, endTime: at(9e6), ticketsFrom: at(-9e6) });
  const away = async () => ({ success: false, status: 503 });
  const client = {
    clock: { now: () => Date.now() }, order: away, orders: away, vouchers: away, follow: () => () => {},
    ticket: async () => {
      const [{ beginTime }] = shop.vouchers;
      asked.push('ticket');
      shop.vouchers = [sale(moved)];
      const data = { ticket: 'T', usableFrom: beginTime, validUntil: at(9e6), beginTime };
      return { success: true, status: 200, data };
    },
    buy: async () => (asked.push('buy'), { refused: 'SOLD_OUT' }),
  };
  const told = (event) => (asked.push(event), event === 'kept' && done(asked.join()));
  const shop = new Shop(client, { token: 'A', user: '42' }, 1, { changed() {}, notify: told, signedOut() {} });
  shop.vouchers = [sale(old)];
  shop.press(shop.vouchers[0]).then(() => done(asked.join()));
}))`)
	if want := "ticket,ticket,buy,refused"; got != want {
		t.Errorf("the page did %s, want %s", got, want)
	}
}

// TestStoppedAtTheMoment checks that a guard's refusal is shown, and that the buyer may press again.
func TestStoppedAtTheMoment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		device device
		want   string
	}{{phone(), "This sale is for other accounts"}, {desktop().in("zh-CN"), "不符合本次活动的要求"}} {
		name := tt.device.name + tt.device.language
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := realShop(t, "SECKILL_GUARD_SECRET", guardSecret)
			voucher := s.withTickets("50 for 10", 50*time.Minute,
				map[string]any{"conditions": map[string]any{"minLevel": 3}})
			s.begins(voucher, 2*time.Second)
			w := open(t, s.url("/"), s.signedIn(tt.device, 42))
			w.sees(".card-act button", "")
			w.click(".card-act button")
			w.sees(".card-note", tt.want)
			w.sees(button("grab"), "¥10")
			w.accessible()
			w.picture("buyer-tickets-refused-"+name, false)
		})
	}
}

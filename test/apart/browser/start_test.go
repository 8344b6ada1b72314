package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestConsoleStart checks the console's first page: what runs with its units, money and rate, the next sale with its
// countdown and whether it may begin, what comes and what has ended today, and what needs a hand, each leading to where
// that is done. What came in is at most two clicks away.
func TestConsoleStart(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	w := open(t, s.url("/admin"), s.asAdmin(phone().in("zh-CN").inDark()))
	w.sees("[data-next]", "暂无即将开始的活动")
	w.sees("[data-running]", "暂无进行中的活动")
	w.seesNo("[data-hands]")
	w.sees("[data-today]", "今日暂无收款")
	w.sees("[data-today] h2", "UTC")
	w.accessible()
	w.click("[data-next] button")
	w.sees("dialog", "新建活动")

	running := s.onSale("Noodles for ten", 40)
	paused := s.onSale("Cinema, two seats", 10)
	s.offer("In a week", 10, time.Now().Add(170*time.Hour), time.Now().Add(171*time.Hour), "not_started")
	ended := s.onSale("Tea for four", 4)
	s.paid(ended, 43)
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", ended), 44, nil, nil)
	s.must(http.MethodPatch, fmt.Sprintf("/voucher/%d", ended), admin,
		map[string]any{"endTime": time.Now().Add(2 * time.Second)}, nil)
	s.awaitState(ended, "ended")
	next := s.offer("Tonight at eight", 5000, time.Now().Add(3*time.Hour), time.Now().Add(5*time.Hour), "not_started")
	s.must(http.MethodPost, fmt.Sprintf("/voucher/%d/pause", paused), admin, nil, nil)
	s.awaitState(paused, "paused")
	s.startBuyers(running, 100, 12)()
	s.paid(running, 42)
	for _, d := range []device{desktop(), phone().in("zh-CN").inDark()} {
		w := open(t, s.url("/admin"), s.asAdmin(d))
		w.until(`/^02:5\d:\d\d$/.test(document.querySelector('[data-next] .big')?.innerText)`)
		w.sees("[data-next]", "Tonight at eight")
		w.sees("[data-next] [data-verdict=nogo]", "") // stores of tests keep nothing
		w.sees(fmt.Sprintf("[data-running] [data-sale='%d']", running),
			map[string]string{
				"": "¥10 · 1 paid, 12 unpaid, of 40 units", "zh-CN": "已支付 1 份，待支付 12 份，共 40 份",
			}[d.language])
		w.sees(fmt.Sprintf("[data-running] [data-sale='%d'] [data-rate]", running), "0")
		w.sees(fmt.Sprintf("[data-ended] [data-sale='%d']", ended),
			map[string]string{"": "1 paid, 1 unpaid, of 4 units", "zh-CN": "已支付 1 份，待支付 1 份，共 4 份"}[d.language])
		w.sees("[data-today] b", "¥20")
		w.accessible()
		w.picture("console-start-"+d.name+d.language, true)
		for _, sale := range []int64{running, ended} {
			w.click(fmt.Sprintf("[data-sale='%d'] a", sale))
			w.sees("[data-money]", "¥10 · ")
			w.visit(s.url("/admin"))
			w.click(fmt.Sprintf("[data-sale='%d'] [data-act=report]", sale))
			w.sees(tile("revenue"), "¥10")
			w.visit(s.url("/admin"))
		}
		w.click("[data-today] a")
		w.until("document.querySelectorAll('[data-payment]').length === 2")
		w.visit(s.url("/admin"))
		w.click(fmt.Sprintf("[data-hand=paused-%d] a", paused))
		w.sees(".actions > [data-act=resume]", "")
		w.visit(s.url("/admin"))
		w.click("[data-next] [data-act=before]")
		w.until(fmt.Sprintf("location.hash === '#/before/%d'", next))
	}
}

// TestStartLooks checks rates between two looks, and that what is not answered stays as it was.
func TestStartLooks(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/admin"), desktop())
	w.sees("h1", "Console")
	got := evaluate[string](w, `import('/assets/admin/start.js').then(({ next }) => {
  const ok = (data, more) => ({ success: true, data, ...more }), away = { success: false };
  const looks = (sold, hooks) => ({ failed: null, coming: ok({ sales: [{ beginTime: '2026-01-02' }, { beginTime: '2026-01-01' }] }), running: ok({ sales: [{ voucherId: 7, sold }] }),
    vouchers: new Map(), letters: ok([], { total: 3 }), hooks, refunds: ok(Array(100).fill({ refundingTime: new Date(1e12) }, 1).fill({ refundingTime: new Date(1e12 - 4e6) }, 0, 1)), stuck: ok([{}]), disputes: ok(Array(100).fill({})) });
  const first = next({ at: 0, rates: {}, hooks: [], vouchers: new Map() }, looks(10, ok([{ failures: 2 }, { failures: 0 }])), 1e12);
  const second = next(first, looks(60, away), 1e12 + 5000);
  const count = ({ n, more }) => n + (more ? '+' : '');
  return [first.rates[7], second.rates[7], second.hooks.length, second.letters, count(second.refunds), count(second.stuck), count(second.disputes), second.coming[0].beginTime].join();
})`)
	if want := ",10,1,3,1+,1,100+,2026-01-01"; got != want {
		t.Errorf("rates, webhooks, letters, refunds, stuck ones, disputes and the next sale: %s, want %s", got, want)
	}
	got = evaluate[string](w, `import('/assets/admin/start.js').then(({ ofToday }) => {
  const hour = (n) => new Date(Date.UTC(2026, 0, 2, n)).toISOString();
  const sale = (voucherId, begin, end) => ({ voucherId, beginTime: hour(begin), endTime: hour(end) });
  const seen = { coming: [sale(1, 11, 20), sale(2, 13, 14), sale(3, 20, 21), sale(4, 30, 31)], running: [sale(5, 1, 15), sale(6, 1, 12)], ended: [sale(6, 1, 12), sale(7, -9, 0), sale(8, -9, -1), sale(9, 8, 9)] };
  const { next, later, running, ended } = ofToday(seen, Date.parse(hour(12)), Date.parse(hour(0)));
  return [[next], later, running, ended].map((list) => list.map((s) => s.voucherId).join()).join(' ');
})`)
	if want := "2 3 1,5 6,9,7"; got != want {
		t.Errorf("next, later today, running, ended today: %s, want %s", got, want)
	}
}

// TestSalesInNumbers checks the units of a sale in words, those of a sale that runs, which are paid or not at this
// second, the time that a report's chart shows, and which cancelled orders were not paid in time.
func TestSalesInNumbers(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/admin"), desktop())
	w.sees("h1", "Console")
	got := evaluate[string](w, `Promise.all(['sale', 'live', 'report', 'order', 'texts', '../words']
  .map((name) => import('/assets/admin/' + name + '.js'))).then(([{ unitsOf }, { unitsAt }, { wholeOf }, { late }, { TEXTS }, { speak }]) => {
  const line = { paid: 3, unpaid: 2, sold: 6, issued: 10, phase: 'running' }, at = (n) => new Date(n * 1000).toISOString();
  const said = (l, language) => unitsOf(l, speak(language, TEXTS)).flat().filter(Boolean).join('');
  const units = (l, held) => Object.values(unitsAt({ held }, l)).join();
  const whole = (begin, end, now) => wholeOf([[20, 30], [1, 2], [3, 4], [5, 6]], { beginTime: at(begin), endTime: at(end), at: at(now) }).join('/');
  return [said(line, 'en'), said({ ...line, issued: 1 }, 'en'), said({ ...line, sold: 5 }, 'zh'),
    units(line, 9), units({ ...line, phase: 'ended' }, 0), units(null, 4), unitsAt({ held: 4 }, undefined),
    whole(10, 90, 50), whole(25, 90, 30),
    [5, 4].map((n) => late({ status: 'cancelled', payBefore: at(5), cancelTime: at(n) })).join(), late({ status: 'paid', payBefore: at(5) }),
  ].join('\n');
})`)
	if want := `3 paid, 2 unpaid, 1 being refunded, of 10 units
3 paid, 2 unpaid, 1 being refunded, of 1 unit
已支付 3 份，待支付 2 份，共 10 份
3,1,5
3,1,2
0,0,4

10,20,30,50/0,1,2,0/0,3,4,0/,5,6,
20,30/1,2/3,4/5,6
true,false
false`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestConsoleStart checks the console's first page: the next sale with its countdown and whether it may begin, what
// runs with its units and rate, and what needs a hand, each leading to where that is done.
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
	w.sees("dialog", "新建优惠券")

	running := s.onSale("Noodles for ten", 40)
	paused := s.onSale("Cinema, two seats", 10)
	s.offer("In a week", 10, time.Now().Add(170*time.Hour), time.Now().Add(171*time.Hour), "not_started")
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
		w.sees(fmt.Sprintf("[data-running] [data-sale='%d']", running), "13")
		w.sees(fmt.Sprintf("[data-running] [data-sale='%d'] [data-rate]", running), "0")
		w.sees("[data-today] b", "¥10")
		w.accessible()
		w.picture("console-start-"+d.name+d.language, true)
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
    vouchers: ok([]), letters: ok([], { total: 3 }), hooks, refunds: ok([{ refundingTime: new Date(1e12 - 4e6).toISOString() }, { refundingTime: new Date(1e12).toISOString() }]), stuck: ok([{}]), disputes: ok([{}, {}]) });
  const first = next({ at: 0, rates: {}, hooks: [] }, looks(10, ok([{ failures: 2 }, { failures: 0 }])), 1e12);
  const second = next(first, looks(60, away), 1e12 + 5000);
  return [first.rates[7], second.rates[7], second.hooks.length, second.letters, second.refunds, second.stuck, second.disputes, second.coming[0].beginTime].join();
})`)
	if want := ",10,1,3,1,1,2,2026-01-01"; got != want {
		t.Errorf("rates, webhooks, letters, refunds, stuck ones, disputes and the next sale: %s, want %s", got, want)
	}
}

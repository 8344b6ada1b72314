package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/internal/testkit"
)

// TestStalePages: while Redis hangs, a sold-out sale says how much was left a moment ago and lets buyers try all the
// same; the console says that it does not know how the sale is, and lets admins pause and resume it. Both go back to
// what is the case by themselves.
func TestStalePages(t *testing.T) {
	t.Parallel() // it mostly waits
	p := testkit.NewProxy(t, testkit.RedisAddr(t))
	s := realShop(t, "SECKILL_REDIS_ADDRS", p.Addr, "SECKILL_REDIS_TIMEOUT", "1s")
	voucher := s.onSale("Noodles for two", 2)
	for user := range int64(2) {
		s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=30s", voucher), 40+user, nil, nil)
	}
	s.awaitState(voucher, "sold_out")
	buyer, zh := open(t, s.url("/"), desktop()), open(t, s.url("/"), phone().in("zh-CN").inDark())
	buyer.sees(button("sold_out"), "Sold out")
	zh.sees(button("sold_out"), "已售罄")
	console := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
	console.sees(".tag", "Sold out")
	p.Blackhole()
	buyer.sees(button("try"), "Try anyway for ¥10")
	buyer.sees(".stock", "0 of 2 left a moment ago")
	buyer.sees(".card-note", "cannot see right now")
	buyer.until(`!document.querySelector('button[data-state=try]').classList.contains('primary')`)
	buyer.accessible()
	buyer.picture("buyer-stale-desktop", false)
	zh.sees(button("try"), "¥10 仍要抢购")
	zh.sees(".stock", "片刻前剩余 0 / 2")
	zh.accessible()
	zh.picture("buyer-stale-phone-zh", false)
	console.sees(".tag", "Unknown")
	console.until(`[...document.querySelectorAll('tbody td')].some(c => c.innerText.startsWith('– /'))`)
	console.accessible()
	console.picture("console-unknown-desktop", false)
	console.visit(s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)))
	console.sees("h1 .tag", "Unknown")
	console.sees("[data-act=pause]", "")
	console.sees("[data-act=resume]", "")
	p.Heal()
	buyer.sees(button("sold_out"), "Sold out")
	console.sees("h1 .tag", "Sold out")
}

// TestSaleOfASilentService: a network that goes without closing connections makes the figures of a sale out of date,
// and the page says so until they come again.
func TestSaleOfASilentService(t *testing.T) {
	t.Parallel() // it mostly waits
	s := realShop(t)
	voucher := s.onSale("Noodles for two", 2)
	p := testkit.NewProxy(t, s.server.Addr)
	w := open(t, s.through(p)+fmt.Sprintf("admin#/voucher/%d", voucher), s.asAdmin(desktop()))
	w.sees("h1 .tag", "On sale")
	w.sees(tile("unpaid"), "0")
	p.Blackhole()
	w.sees(".note.warn", "The service does not answer, so these figures are out of date")
	w.sees("h1 .tag", "Unknown")
	w.accessible()
	w.picture("console-sale-silent-desktop", false)
	p.Heal()
	w.sees("h1 .tag", "On sale")
	w.seesNo("main > .note.warn")
}

// TestRatesOverTheSameTime: the tiles of a sale average over the same five seconds, so that they can be compared.
func TestRatesOverTheSameTime(t *testing.T) {
	t.Parallel()
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, `import('/assets/admin/live.js').then(({ next }) => {
  let sale = { now: null, away: '', rates: {}, seen: [], points: [[], [], [], []] };
  const counts = [0, 0, 0, 0, 0, 0, 0, 50]; // all of it comes in the last second
  counts.forEach((n, i) => {
    const at = new Date(1e12 + i * 1000).toISOString();
    sale = next(sale, { at, epoch: 1, sequence: n, refused: { SOLD_OUT: n }, recorded: n, stock: 100 - n, ...(n && { p99Ms: 1.5 }) });
  });
  const { accepted, refused, recorded } = sale.rates;
  return [accepted, refused, recorded, sale.points[2].at(-1), ...sale.points[3].slice(-2)].join();
})`)
	if want := "10,10,10,50,,1.5"; got != want { // the chart has each second's
		t.Errorf("accepted, refused, recorded, and in the chart: %s, want %s", got, want)
	}
}

// TestTimesThatClocksSkip: the form of a voucher neither moves a local time that the admin's clocks never show, nor
// chooses one of two that they show twice.
func TestTimesThatClocksSkip(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop().at("Europe/Berlin")))
	w.click("[data-act=create]")
	w.setsTime("beginTime", "2036-03-30T02:30:00") // put forward from 2 to 3
	w.setsTime("endTime", "2036-03-30T03:00:00")
	w.click("[data-act=save]")
	w.sees("#f-beginTime-wrong", "This time does not exist")
	w.seesNo("#f-endTime-wrong")

	for at, twice := range map[string]bool{ // put back from 3 to 2
		"01:59:59": false, "02:00:00": true, "02:30:00": true, "02:59:59": true, "03:00:00": false,
	} {
		w.setsTime("beginTime", "2036-10-26T"+at)
		w.setsTime("endTime", "2036-10-26T04:00:00")
		w.click("[data-act=save]")
		w.sees("#f-title-wrong", "missing")
		if got := evaluate[bool](w, "document.querySelector('#f-beginTime-wrong') !== null"); got != twice {
			t.Errorf("%s is refused: %t, want %t", at, got, twice)
		}
	}
	w.setsTime("beginTime", "2036-10-26T02:30:00")
	w.click("[data-act=save]")
	w.sees("#f-beginTime-wrong", "This time comes twice")
	w.accessible()
	w.click("[data-field=beginTime]")
	w.picture("console-form-twice-desktop", false)
	for name, d := range map[string]device{
		"zh-dark": desktop().in("zh-CN").inDark(),
		"narrow":  {name: "narrow", width: 360, height: 740, language: "zh-CN"},
	} {
		w := open(t, s.url("/admin#/vouchers"), s.asAdmin(d.at("Europe/Berlin")))
		w.click("[data-act=create]")
		w.setsTime("beginTime", "2036-10-26T02:30:00")
		w.setsTime("endTime", "2036-10-26T04:00:00")
		w.click("[data-act=save]")
		w.sees("#f-beginTime-wrong", "会出现两次")
		w.accessible()
		w.click("[data-field=beginTime]")
		w.picture("console-form-twice-"+name, false)
	}
}

// TestTimesTwiceKept: a window in the hour that clocks show twice, which other clients may set, stays as
// it is while other members of its voucher are changed in the form.
func TestTimesTwiceKept(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	begin := time.Date(2036, 10, 26, 0, 50, 0, 0, time.UTC) // 2:50, the first one
	end := time.Date(2036, 10, 26, 1, 10, 0, 0, time.UTC)   // 2:10, the second one
	voucher := s.offer("Noodles at night", 5, begin, end, "not_started")
	w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(desktop().at("Europe/Berlin")))
	w.sees("h1", "Noodles at night")
	w.acts("edit")
	w.replaces("#f-subTitle", "For two")
	w.click("[data-act=save]")
	w.seesNo("dialog")
	var got struct {
		SubTitle           string
		BeginTime, EndTime time.Time
	}
	s.must(http.MethodGet, fmt.Sprintf("/voucher/%d", voucher), admin, nil, &got)
	if got.SubTitle != "For two" || !got.BeginTime.Equal(begin) || !got.EndTime.Equal(end) {
		t.Errorf("the voucher is %+v", got)
	}
}

// TestOrderWithoutState checks that an order whose state the ledger cannot say at the moment is its buyer's, keeps the
// state that is known of it, and leaves the page working.
func TestOrderWithoutState(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	v := s.onSale("Noodles for two", 5)
	order := s.unpaid(v, 42)
	d := s.signedIn(phone(), 42)
	d.script += fmt.Sprintf(`
window.mute = true;
window.EventSource = class { addEventListener() {} close() {} };
window.stateless = () => (window.muted = (window.muted ?? 0) + 1, Promise.resolve(new Response(
  JSON.stringify({ success: true, stale: true, data: [{ id: %s, voucherId: %d }] }))));
window.fetch = ((ask) => (path, options) => mute && String(path).startsWith('/order?') ? stateless()
  : ask(path, options))(window.fetch);`,
		quoted(order), v)
	w := open(t, s.url("/"), d)
	w.sees(button("yours"), "You got it")
	w.sees(".own .order .tag", "Being looked up")
	w.accessible()
	w.picture("buyer-order-without-state-phone", false)
	hears := func(mute bool) {
		evaluate[bool](w, fmt.Sprintf(
			"window.mute = %t, new BroadcastChannel('seckill.buyer').postMessage('changed'), true", mute))
	}
	hears(false)
	w.sees(".own .order .tag", "To be paid")
	asked := evaluate[int](w, "window.muted ?? 0")
	hears(true)
	w.until(fmt.Sprintf("window.muted > %d", asked))
	w.sees(button("unpaid"), "Pay ¥10")
}

// TestConsoleWaits: while nothing answers, each page of the console keeps its head, says that it waits, then what went
// wrong, and shows all once there are answers, by itself.
func TestConsoleWaits(t *testing.T) {
	t.Parallel() // it mostly waits
	s := realShop(t)
	voucher := s.onSale("Noodles for two", 2)
	p := testkit.NewProxy(t, s.server.Addr)
	for _, tc := range []struct{ name, page, head, comes string }{
		{"vouchers", "vouchers", "Vouchers", "Noodles for two"},
		{"sale", fmt.Sprint("voucher/", voucher), fmt.Sprint("#", voucher), "Noodles for two"},
		{"report", fmt.Sprint("report/", voucher), "Report", "Noodles for two"},
		{"payments", "payments", "Payments", "There are no payments yet"},
		{"start", "start", "Start", "Noodles for two"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := open(t, s.through(p)+"admin#/partitions", s.asAdmin(desktop()))
			w.sees("h1", "Partitions")
			p.Blackhole()
			evaluate[bool](w, fmt.Sprintf("location.hash = '#/%s', true", tc.page))
			w.sees("h1", tc.head)
			w.sees("[data-waiting=late]", "has not answered yet")
			w.accessible()
			w.picture("console-waits-"+tc.name+"-desktop", false)
			p.Heal()
			w.sees("main", tc.comes)
		})
	}
}

// TestHiddenPageAsksLater checks that a page of the console which was hidden when it would have asked again after a
// failure asks once it is shown.
func TestHiddenPageAsksLater(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Noodles for two", 2)
	for _, tc := range []struct{ page, path, comes string }{
		{"payments", "/admin/payment?", "There are no payments yet"},
		{fmt.Sprint("voucher/", voucher), fmt.Sprint("/voucher/", voucher), "Noodles for two"},
	} {
		d := s.asAdmin(desktop())
		d.script += fmt.Sprintf(`
window.fetch = ((ask) => (path, options) => String(path).startsWith(%s) && !window.healed
  ? Promise.reject(new TypeError('no answer')) : ask(path, options))(window.fetch);
window.setTimeout = ((wait) => (run, ms) => wait(() => (run(), ms === 3000 && looks++), ms))(window.setTimeout);`,
			quoted(tc.path))
		w := open(t, s.url("/admin#/partitions"), d)
		w.sees("h1", "Partitions")
		w.setHidden(true)
		evaluate[bool](w, fmt.Sprintf("window.looks = 0, location.hash = '#/%s', true", tc.page))
		w.sees(".note.warn", "does not answer")
		w.until("looks > 0")
		w.sees(".note.warn", "does not answer")
		evaluate[bool](w, "window.healed = true")
		w.setHidden(false)
		w.sees("main", tc.comes)
	}
}

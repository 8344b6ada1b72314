package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// answeredByHand lets a test answer the page's requests to a path: lists holds them, oldest first. It shortens the
// interval of so many milliseconds at which the page reads again; ticks counts the intervals.
func answeredByHand(path string, interval int) string {
	return fmt.Sprintf(`
window.ticks = 0;
window.lists = [];
const every = window.setInterval, ask = window.fetch;
window.setInterval = (run, ms) => every(() => (run(), ms === %[2]d && ticks++), ms === %[2]d ? 100 : ms);
window.fetch = (path, options) => String(path).split('?')[0] !== %[1]s ? ask(path, options) :
  new Promise((answer, fail) => lists.push({
  path, fail: () => fail(new TypeError('no answer')),
  answer: (page) => answer(new Response(JSON.stringify({ success: true, ...page }))),
}));`, quoted(path), interval)
}

// notAskedAgain waits for three intervals and checks that the number of requests does not change.
func (w *window) notAskedAgain(requests int) {
	w.tb.Helper()
	w.until(fmt.Sprintf("lists.length >= %d", requests))
	from := evaluate[int](w, "ticks")
	w.until(fmt.Sprintf("ticks >= %d", from+3))
	if got := evaluate[int](w, "lists.length"); got != requests {
		w.tb.Fatalf("the page has asked %d times, want %d", got, requests)
	}
}

// TestConsoleListReadsOnce checks that a list under way is not requested again, that a missing answer is reported below
// the rows, and that the list stays unchanged once further pages are shown. A search without a match on its first page
// continues.
func TestConsoleListReadsOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	s := embeddedShop(t)
	for language, says := range map[string]struct{ loading, none, away string }{
		"":      {"Loading", "None so far", "does not answer"},
		"zh-CN": {"加载中", "尚未找到", "服务无响应"},
	} {
		suffix := map[string]string{"zh-CN": "-zh"}[language]
		d := s.asAdmin(desktop().in(language))
		d.script += answeredByHand("/admin/voucher", 10_000)
		w := open(t, s.url("/admin#/vouchers?title=noodles"), d)
		row := func(id int) string {
			return fmt.Sprintf("document.querySelector('[data-voucher=\"%d\"]') !== null", id)
		}
		w.notAskedAgain(1)
		w.sees("main", says.loading)
		answer := func(page string) {
			t.Helper()
			evaluate[bool](w, fmt.Sprintf("lists.at(-1).answer(%s), true", page))
		}
		const voucher = "{id: %d, title: 'Noodles', type: 0, status: 1, shopId: 1, payValue: 1000, actualValue: 5000}"
		answer("{data: [], next: '20001'}")
		w.sees(".note", says.none)
		w.accessible()
		w.picture("console-search-on-desktop"+suffix, false)
		w.notAskedAgain(2) // the first page is being read again
		answer("{data: [" + fmt.Sprintf(voucher, 20_002) + "], next: '20001'}")
		w.until(row(20_002))
		w.notAskedAgain(3)
		evaluate[bool](w, "lists.at(-1).fail(), true")
		w.sees("[role=alert]", says.away)
		w.until(row(20_002))
		w.accessible()
		w.picture("console-no-answer-desktop"+suffix, false)
		w.notAskedAgain(4)
		w.click("[data-act=more]")
		w.until("lists.length === 5 && lists[4].path.includes('before=20001')")
		answer("{data: [" + fmt.Sprintf(voucher, 7) + "]}")
		w.until(row(7))
		w.notAskedAgain(5)
		w.until(row(20_002) + " && " + row(7))
		evaluate[bool](w, "location.hash = '#/vouchers?title=tea', true") // another filter
		w.notAskedAgain(6)
		answer("{data: []}")
		w.notAskedAgain(7)
	}
}

// TestConsolePartitionsReadOnce checks that only one read is under way at a time, that a hidden tab reads nothing, and
// that a number missing from Redis, which reads as 0, does not produce a rate.
func TestConsolePartitionsReadOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	s := embeddedShop(t)
	d := s.asAdmin(desktop())
	d.script += answeredByHand("/admin/partition", 5000)
	w := open(t, s.url("/admin#/partitions"), d)
	reading := func(n, second, added, processorMs int) {
		t.Helper()
		w.notAskedAgain(n)
		evaluate[bool](w, fmt.Sprintf(
			`lists.at(-1).answer({data: [{number: 0, state: 'open', sales: 1, instances: 1,
  figures: {node: 'n', at: '2026-11-11T20:00:%02dZ', waiting: %d, waitingMs: 0, deadLetters: 0, added: %d, processorMs: %d}}]}), true`, second, n, added, processorMs))
		w.sees("[data-partition='0'] td:nth-of-type(4)", fmt.Sprint(n))
	}
	rate := func(entries, busy string) {
		t.Helper()
		w.sees("[data-partition='0'] td:nth-of-type(6)", entries)
		w.sees("[data-partition='0'] td:nth-of-type(9)", busy)
	}
	reading(1, 0, 0, 0)
	rate("–", "–")
	reading(2, 10, 9000, 5000)
	rate("–", "–")
	reading(3, 20, 9500, 6000)
	rate("50", "10 %")
	w.notAskedAgain(4)
	evaluate[bool](w,
		"Object.defineProperty(document, 'hidden', {value: true, configurable: true}), lists.at(-1).fail(), true")
	w.sees("[role=alert]", "does not answer")
	w.notAskedAgain(4)
	evaluate[bool](w, "delete document.hidden, true")
	w.notAskedAgain(5)
}

// TestOlderListOfOrders checks that a list of orders is ignored if it was requested before the shown one but arrives
// later.
func TestOlderListOfOrders(t *testing.T) {
	t.Parallel() // it mostly waits
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, `import('/assets/buyer/shop.js').then(async ({ Shop }) => {
  const answers = [];
  const client = { orders: () => new Promise((answer) => answers.push(answer)) };
  const shop = new Shop(client, { token: 'A', user: '42' }, 1, { changed() {}, notify() {}, signedOut() {} });
  const list = (status) => ({ success: true, data: [{ id: '5', voucherId: 7, status }] });
  const reads = [shop.readOrders(), shop.readOrders(), shop.readOrders()];
  answers[1](list('paid'));
  await reads[1];
  answers[0](list('cancelled'));
  await reads[0];
  const shown = [shop.orders[0].status];
  answers[2]({ success: false, status: 503 });
  await reads[2];
  return [...shown, shop.orders[0].status, shop.ordersTrouble.status].join();
})`)
	if want := "paid,paid,503"; got != want {
		t.Errorf("shown: %s, want %s", got, want)
	}
}

// moves makes the page's clock move on, so that what is asked for afterwards is asked for later.
const moves = `const moves = () => { for (const now = performance.now(); performance.now() === now;); };`

// TestOlderAnswerAboutAnOrder checks that of two answers about an order the one that was asked for later counts,
// whichever comes first, and that the older one adds what only it has. An order is not queued again.
func TestOlderAnswerAboutAnOrder(t *testing.T) {
	t.Parallel()
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, moves+`import('/assets/buyer/shop.js').then(async ({ Shop }) => {
  const run = async (known, second, first, later, order) => {
    const answers = [];
    const ask = () => new Promise((answer) => (moves(), answers.push(answer)));
    const client = { order: ask, orders: ask, follow: () => () => {} };
    const shop = new Shop(client, { token: 'A', user: '42' }, 1, { changed() {}, notify() {}, signedOut() {} });
    const one = (status) => ({ id: '5', voucherId: 7, status });
    shop.orders = [one(known)];
    const reads = [shop.readOrder('5'), shop[second]('5')];
    for (const i of order) {
      const data = one([first, later][i]);
      answers[i]({ success: true, data: i === 0 ? { ...data, history: [] } : second === 'readOrders' ? [data] : data });
      await reads[i];
    }
    return shop.orders[0].status + (shop.orders[0].history ? '' : ' without its history');
  };
  return [
    await run('paid', 'readOrder', 'paid', 'refunded', [1, 0]),
    await run('paid', 'readOrders', 'paid', 'refunded', [0, 1]),
    await run('paid', 'readOrders', 'paid', 'refunded', [1, 0]),
    await run('queued', 'readOrders', 'unpaid', 'queued', [1, 0]),
  ].join();
})`)
	if want := "refunded,refunded,refunded,unpaid"; got != want {
		t.Errorf("shown: %s, want %s", got, want)
	}
}

// TestOlderAnswerAboutARefund checks that the console does not show an order as refunding again once it is refunded,
// however its answers overtake each other.
func TestOlderAnswerAboutARefund(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	d := s.asAdmin(desktop())
	d.script += answeredByHand("/admin/order/5", 2000)
	w := open(t, s.url("/admin#/orders?orderId=5"), d)
	answer := func(n int, status string) {
		t.Helper()
		w.until(fmt.Sprintf("lists.length > %d", n))
		evaluate[bool](w, fmt.Sprintf("lists[%d].answer({data: {id: '5', userId: '42', voucherId: 7, status: '%s'}}), "+
			"ask('/').then(() => true)", n, status))
	}
	answer(0, "refunding")
	w.until("lists.length > 2")
	answer(2, "refunded")
	w.sees("dialog .tag", "Refunded")
	answer(1, "refunding")
	w.sees("dialog .tag", "Refunded")
}

// TestBuyerWithoutAnOrder checks what a search for a buyer without an order says: that refusals are counted, not kept;
// what the sale refused, with its report; and without a sale, which ones it may be about. Another filter is not said to
// have found that the buyer has no order.
func TestBuyerWithoutAnOrder(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Noodles for ten", 3)
	s.offer("Tonight at eight", 5000, time.Now().Add(3*time.Hour), time.Now().Add(5*time.Hour), "not_started")
	const refused = 4242424242424242
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), 7, nil, nil)
	s.startBuyers(voucher, 100, 2)()
	s.startBuyers(voucher, refused, 1)()
	for language, says := range map[string]struct{ none, soldOut, other string }{
		"":      {"no order", "Sold out", "No order matches"},
		"zh-CN": {"没有订单", "已售罄", "没有符合条件的订单"},
	} {
		d := s.asAdmin(desktop().in(language))
		if language != "" {
			d = s.asAdmin(phone().in(language).inDark())
		}
		w := open(t, s.url(fmt.Sprintf("/admin#/orders?userId=%d", int64(refused))), d)
		w.sees("[data-no-order] h2", says.none)
		w.until("(field => field.scrollWidth <= field.clientWidth)(document.querySelector('#q-userId'))")
		w.accessible()
		w.picture("console-no-order-"+d.name+language, true)
		w.until("document.querySelectorAll('[data-no-order] li').length === 1") // not the one to come
		w.click("[data-no-order] li a")
		w.until(fmt.Sprintf("location.hash.endsWith('&voucherId=%d')", voucher))
		for evaluate[bool](w, "document.querySelector('[data-no-order] tr') === null") {
			w.visit(s.url("/admin#/orders")) // until the instance has written its timeline
			w.sees("tbody tr", "")
			w.visit(s.url(fmt.Sprintf("/admin#/orders?userId=%d&voucherId=%d", int64(refused), voucher)))
			w.sees("[data-no-order] h2", "Noodles for ten")
		}
		w.sees("[data-no-order] tr", says.soldOut)
		w.accessible()
		w.picture("console-no-order-of-sale-"+d.name+language, true)
		w.click("[data-no-order] [data-act=report]")
		w.until(fmt.Sprintf("location.hash === '#/report/%d'", voucher))
		w.visit(s.url(fmt.Sprintf("/admin#/orders?userId=%d&status=paid", int64(refused))))
		w.sees(".note", says.other)
		w.seesNo("[data-no-order]")
		w.visit(s.url("/admin#/orders?userId=7")) // who has an order, and may ask about another sale
		w.click("[data-other-sale] summary")
		w.sees("[data-other-sale] li", "Noodles for ten")
		w.accessible()
	}
}

// TestConsoleNoOrderUnanswered checks that what is not known of sales is not said: neither that none ran while the
// service does not answer, nor that an ordinary voucher has refused no request.
func TestConsoleNoOrderUnanswered(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	var voucher struct{ ID int64 }
	s.must(http.MethodPost, "/voucher", admin,
		map[string]any{"shopId": 1, "title": "Any day", "payValue": 1000, "actualValue": 2000}, &voucher)
	for language, says := range map[string][2]string{
		"": {"does not answer", "No sale ran"}, "zh-CN": {"服务无响应", "最近一天没有活动"},
	} {
		d := s.asAdmin(desktop().in(language))
		d.script += `
window.fetch = ((ask) => async (path, options) => {
  if (String(path).startsWith('/admin/sale?')) throw new TypeError('no answer');
  return ask(path, options);
})(window.fetch);`
		w := open(t, s.url("/admin#/orders?userId=77"), d)
		w.sees("[data-no-order] [role=alert]", says[0])
		w.accessible()
		w.picture("console-no-order-unanswered-desktop"+language, false)
		if text := w.text(); strings.Contains(text, says[1]) {
			t.Errorf("without an answer the page says %q", says[1])
		}
		w.visit(s.url(fmt.Sprintf("/admin#/orders?userId=77&voucherId=%d", voucher.ID)))
		w.sees("[data-no-order] [data-act=report]", "")
		w.until("document.querySelectorAll('[data-no-order] p').length === 2") // what is known of all, and the report
	}
}

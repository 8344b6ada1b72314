package browser

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everyState replaces the page by a card in every state of its button, with every possible note, and an order in every
// state. It resolves to the states of the buttons.
const everyState = `Promise.all(['vendor/htm-preact', 'words', 'buyer/texts', 'buyer/card', 'buyer/orders', 'buyer/own']
  .map((name) => import('/assets/' + name + '.js')))
  .then(async ([{ html, render }, { preferred, speak }, { TEXTS }, { Card }, { Orders }, { Own, Urgent }]) => {
  const words = speak(preferred(), TEXTS), now = Date.now();
  const at = (minutes) => new Date(now + minutes * 60e3).toISOString();
  const shop = { presses: new Map(), orders: [], doing: new Map(), refusals: new Map(), refusalOf: (o) => shop.refusals.get(o.id), ordersKnown: true, vouchers: [], mine: new Map(),
    waiting: new Map(), wasLive: new Set(), given: new Map(), quantity: (v) => v.wanted ?? 1, choose() {}, readOrder() {},
    liveOrder: (id) => shop.orders.find((o) => o.voucherId === id), orderOf: (id) => shop.orders.find((o) => o.voucherId === id),
    calledOff: (id) => shop.vouchers.some((v) => v.id === id && v.saleState === 'called_off'), liveOrders: (id) => shop.mine.get(id) ?? [],
    places: { of: (id) => shop.waiting.get(id), open: () => [...shop.waiting].map(([voucherId, place]) => ({ voucherId, ...place })), doing: new Map(), refusals: new Map() }, tickets: { of: (id) => shop.given.get(id) } };
  const card = (fields, { press, order, place, ticket, mine, refused } = {}) => {
    const id = shop.vouchers.length + 1;
    shop.vouchers.push({ id, shopId: 1, title: 'Noodles for two ' + id, subTitle: 'In the old town', rules: 'One to a person.', payValue: 1000, actualValue: 5000,
      type: 1, status: 1, stock: 5, issued: 10, perUser: 3, saleState: 'on_sale', beginTime: at(-60), endTime: at(60), ...fields });
    if (press) shop.presses.set(id, press);
    if (order) shop.orders.push({ id: String(100 + id), voucherId: id, amount: 1000, createTime: at(-1), ...order });
    if (place) shop.waiting.set(id, place);
    if (ticket) shop.given.set(id, ticket);
    if (mine) shop.mine.set(id, Array.from({ length: mine }, (_, i) => ({ id: String(500 + i) })));
    if (refused) shop.places.refusals.set(id, { errorMsg: 'The list is closed.' });
  };
  const soldOut = { stock: 0, saleState: 'sold_out' }, listed = { ...soldOut, waitlistWindowSeconds: 600 }, ticketed = { beginTime: at(5), ticketsFrom: at(-5) };
  card({ saleState: 'preparing' });
  card({ saleState: 'off_shelf' });
  card({ saleState: 'paused' });
  const off = { saleState: 'called_off', endTime: at(-1), callOffTime: at(-1) };
  card(off);
  for (const status of ['queued', 'unknown', 'unpaid', 'paid', 'redeemed', 'lapsed', 'refunding', 'refunded', 'cancelled']) card(off, { order: { status } });
  for (const status of ['paid', 'redeemed', 'lapsed', 'refunding', 'refunded']) card(off, { order: { status, amount: 0 } });
  card({ beginTime: at(60), endTime: at(120) });
  card({ beginTime: at(60), endTime: at(120), ticketsFrom: at(50) });
  card(ticketed);
  card(ticketed, { ticket: { phase: 'solving', part: 0.4 } });
  card(ticketed, { ticket: { phase: 'ready', usableFrom: now + 305e3 } });
  card({ saleState: 'ended' });
  card({ endTime: at(-1) });
  card(soldOut);
  card({});
  card({ wanted: 3 });
  card({ stock: 1 });
  card({ stale: true });
  card({ type: 0 });
  card({ type: 0 }, { mine: 1 });
  card({ type: 0 }, { mine: 3 });
  card({}, { press: { phase: 'refused', code: 'NOT_ELIGIBLE', message: 'Your account is too young for this sale.' } });
  card({}, { press: { phase: 'refused', code: 'NOT_ENOUGH', left: 2 } });
  for (const phase of ['asking', 'again', 'busy', 'unknown', 'ticket']) card({}, { press: { phase } });
  card(ticketed, { press: { phase: 'kept', at: now + 301e3 } });
  for (const status of ['queued', 'paid', 'redeemed', 'refunding', 'lapsed', 'unknown']) card({}, { order: { status } });
  card({}, { order: { status: 'unpaid', payBefore: at(10), quantity: 2 } });
  card(listed);
  card(listed, { refused: true });
  card(listed, { place: { state: 'missed' } });
  card(listed, { place: { state: 'waiting', ahead: 3, aheadMore: true } });
  card(listed, { place: { state: 'waiting', ahead: 0, missed: 1 } });
  card(listed, { place: { state: 'waiting', ahead: 0, standing: true } });
  card(listed, { place: { state: 'invited', acceptBefore: at(5) } });
  card(listed, { place: { state: 'invited', missed: 1, acceptBefore: at(5) } });
  card(listed, { place: { state: 'invited', acceptBefore: at(-1) } });
  card(listed, { place: { state: 'invited', paused: true, acceptBefore: at(-1) } });
  card(listed, { place: { state: 'accepted' } });
  for (const status of ['cancelled', 'refunded', 'failed']) shop.orders.push({ id: status, voucherId: 900, amount: 1000, status, createTime: at(-1) });
  const asked = ['unpaid', 'paid'].map((status) => shop.orders.find((o) => o.status === status));
  shop.refusals.set(asked[0].id, { errorMsg: 'It cannot be paid just now.' });
  shop.doing.set(asked[1].id, 'refund');
  shop.ordersTrouble = { status: 503 };
  document.body.replaceChildren();
  render(html` + "`" + `<main id="content"><h1>Every state</h1>
    <${Own} shop=${shop} words=${words} now=${now} />
    <div class="cards">${shop.vouchers.map((v) => html` + "`" +
	`<${Card} key=${v.id} voucher=${v} shop=${shop} words=${words} now=${now} />` + "`" + `)}</div>
    <${Orders} shop=${shop} words=${words} now=${now} /><${Urgent} shop=${shop} words=${words} now=${now} /></main>` + "`" + `, document.body);
  return [...document.querySelectorAll('[data-state]')].map((b) => b.dataset.state);
})`

// TestEveryStateOfTheButton checks that cards and orders in all states are accessible, in both languages, light and
// dark. state.js defines the list of states.
func TestEveryStateOfTheButton(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../web/assets/buyer/state.js")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?s)@typedef \{([^}]+)\} State`).FindSubmatch(source)
	if declared == nil {
		t.Fatal("state.js declares no State")
	}
	var want []string
	for _, state := range regexp.MustCompile(`'(\w+)'`).FindAllSubmatch(declared[1], -1) {
		want = append(want, string(state[1]))
	}
	slices.Sort(want)
	s := embeddedShop(t)
	for _, d := range []device{desktop(), phone().in("zh-CN").inDark(), phone(), desktop().in("zh-CN").inDark()} {
		t.Run(d.name+d.language, func(t *testing.T) {
			w := open(t, s.url("/"), d)
			w.sees(button("grab"), "")
			got := evaluate[[]string](w, everyState)
			slices.Sort(got)
			if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
				t.Errorf("declared (-) and shown (+):\n%s", diff)
			}
			w.accessible()
			w.picture("buyer-every-state-"+d.name+d.language, true)
		})
	}
}

// TestSandbox checks that the sandbox's payment page says for what and how much, lets the buyer return without paying,
// and reports errors.
func TestSandbox(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_PAYMENT_CALLBACK_URL", "http://127.0.0.1:1/nobody")
	voucher := s.onSale("Noodles for two", 5)
	for i, tt := range []struct {
		device                      device
		title, back, failed, nobody string
	}{
		{desktop(), "Sandbox payment", "Back to the shop", "could not be told", "no payment at this address"},
		{phone().in("zh-CN").inDark(), "沙盒支付", "返回商家", "暂时无法通知商家", "此支付链接无效"},
	} {
		t.Run(tt.device.name, func(t *testing.T) {
			user := int64(40 + i)
			var bought struct{ OrderID string }
			s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=30s", voucher), user, nil, &bought)
			w := open(t, s.url("/"), s.signedIn(tt.device, user))
			w.click(button("unpaid"))
			w.sees("h1", tt.title)
			w.sees(".what", "Noodles for two")
			w.sees(".amount", "¥10.00")
			w.sees("a.back", tt.back)
			w.accessible()
			w.picture("sandbox-"+tt.device.name, false)
			w.click("form[method=post] button")
			w.sees(".failing", tt.failed)
			w.sees(".what", "Noodles for two")
			w.accessible()
			w.click("a.back")
			w.sees(button("unpaid"), "") // the order is still unpaid
			w.visit(s.url("/sandbox/pay/another"))
			w.sees(".unknown", tt.nobody)
			w.accessible()
			w.click("a.back")
			w.sees(button("unpaid"), "")
		})
	}
}

// TestTillAnswers checks that all answers to a till about a code are accessible. texts.js defines the list of answers.
func TestTillAnswers(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../web/assets/till/texts.js")
	if err != nil {
		t.Fatal(err)
	}
	says := regexp.MustCompile(`'says\.([A-Z_]+)': \{ en: '([^']+)', zh: '([^']+)'`).FindAllStringSubmatch(
		string(source), -1)
	if n := strings.Count(string(source), "'says."); len(says) != n-3 { // valid, done and failed
		t.Fatalf("%d of the %d answers in texts.js are refusals: %v", len(says), n, says)
	}
	s := embeddedShop(t)
	for i, d := range []device{phone().in("en-GB"), desktop().in("zh-CN").inDark()} {
		t.Run(d.name, func(t *testing.T) {
			d = s.asTill(d)
			d.script += `
window.code = '';
window.fetch = ((ask) => (path, options) => String(path).startsWith('/till/') ? Promise.resolve(code
  ? new Response(JSON.stringify({ success: false, code, data: { redeemTime: '2026-11-11T20:00:00Z', byThisTill: false } }), { status: 409 })
  : new Response('{}', { status: 500, headers: { 'Retry-After': '0.01' } })) : ask(path, options))(window.fetch);`
			w := open(t, s.url("/till"), d)
			w.enter("#code", "ABCD EFGH JKLM NPQR")
			for _, answer := range append(says, []string{"", "", "No answer", "暂无结果"}) {
				evaluate[bool](w, "window.code = "+quoted(answer[1])+", true")
				w.click("[data-act=check]")
				w.sees(".result .says", answer[2+i])
				w.accessible()
			}
			w.sees(".result.warn", "")
			w.picture("till-no-answer-"+d.name, false)
		})
	}
}

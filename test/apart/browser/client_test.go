package browser

import (
	"strings"
	"testing"
)

// TestAnotherUserSignsIn checks that a buyer's pending requests are neither sent nor answered in the name of the user
// who signs in next on the same page.
func TestAnotherUserSignsIn(t *testing.T) {
	t.Parallel()
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, `import('/assets/client.js').then(async ({ Client }) => {
  let token = 'A';
  const sent = [];
  globalThis.fetch = async (path, { headers }) => {
    sent.push(headers.Authorization);
    token = 'B'; // while the answer is on its way
    return new Response('{}', { status: 500 });
  };
  const outcome = await new Client({ token: () => token }).buy(7);
  return sent.join() + ' ' + outcome.refused;
})`)
	if want := "Bearer A UNKNOWN_OUTCOME"; got != want {
		t.Errorf("buying: %s, want %s", got, want)
	}
	got = evaluate[string](w, `import('/assets/buyer/shop.js').then(async ({ Shop }) => {
  const session = { token: 'A' };
  const later = (data) => async () => ((session.token = 'B'), data);
  const order = { id: '1', voucherId: 7, status: 'paid' };
  const client = { orders: later({ success: true, data: [order] }), order: later({ success: true, data: order }),
    buy: later({ orderId: '1', status: 'paid' }), refund: later({ success: true, data: order }) };
  const shop = new Shop(client, session, 1, { changed() {}, tell() {}, signedOut() {} });
  const has = [];
  for (const ask of [() => shop.readOrders(), () => shop.readOrder('1'), () => shop.press({ id: 7, type: 1 }), () => shop.act('refund', order)]) {
    session.token = 'A';
    await ask();
    has.push(shop.orders.length);
  }
  return has.join();
})`)
	if want := "0,0,0,0"; got != want {
		t.Errorf("orders shown to another user after each request: %s, want %s", got, want)
	}
}

// TestStaleListLeavesTheButtonAlive checks that a stale list, read while a store hangs, does not disable the button
// even if it says that nothing is left or that the sale is paused: the button then follows the window and the answers
// to purchases, and says that it is a try. A fresh list counts again.
func TestStaleListLeavesTheButtonAlive(t *testing.T) {
	t.Parallel()
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w,
		`Promise.all(['shop', 'state'].map((name) => import('/assets/buyer/' + name + '.js')))
  .then(async ([{ Shop }, { stateOf }]) => {
  const now = Date.parse('2026-11-11T20:00:00Z');
  const sale = (saleState, stock) => ({ id: 7, type: 1, status: 1, stock, saleState,
    beginTime: '2026-11-11T19:00:00Z', endTime: '2026-11-11T21:00:00Z' });
  const states = [];
  for (const [saleState, stock] of [['sold_out', 0], ['paused', 5], ['preparing', 0], ['on_sale', 5], ['ended', 0], ['off_shelf', 5]]) {
    for (const stale of [true, undefined]) {
      const client = { clock: { now: () => now }, vouchers: async () => ({ success: true, stale, data: [sale(saleState, stock)] }) };
      const shop = new Shop(client, {}, 1, { changed() {}, notify() {}, signedOut() {} });
      const later = globalThis.setTimeout;
      globalThis.setTimeout = () => 0; // otherwise the page would read the list again
      await shop.watch();
      globalThis.setTimeout = later;
      states.push(stateOf(shop.vouchers[0], now));
    }
  }
  return states.join();
})`)
	if want := "try,sold_out,try,paused,try,preparing,try,grab,ended,ended,off_shelf,off_shelf"; got != want {
		t.Errorf("stale and fresh: %s, want %s", got, want)
	}
}

// TestCardsOrder checks that cards which can be bought come first and ended ones last, and that no card moves while the
// page is open.
func TestCardsOrder(t *testing.T) {
	t.Parallel()
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, `import('/assets/buyer/shop.js').then(async ({ Shop }) => {
  const now = Date.parse('2026-11-11T20:00:00Z');
  const sale = (id, saleState, begins, ends, stock) => ({ id, type: 1, status: 1, stock, saleState,
    beginTime: '2026-11-11T' + begins + ':00Z', endTime: '2026-11-11T' + ends + ':00Z' });
  const lists = [
    [sale(1, 'ended', '10:00', '11:00', 5), { id: 2, type: 0, status: 1 }, sale(3, 'not_started', '23:00', '23:30', 5), sale(4, 'sold_out', '19:00', '21:00', 0),
     sale(5, 'not_started', '20:30', '21:00', 5), sale(6, 'on_sale', '19:00', '21:00', 5)],
  ];
  lists.push(lists[0].map((v) => (v.id === 6 ? { ...v, saleState: 'sold_out', stock: 0 } : v.id === 3 ? { ...v, saleState: 'on_sale' } : v)));
  let read = 0;
  const client = { clock: { now: () => now }, vouchers: async () => ({ success: true, data: lists[read++] }) };
  const shop = new Shop(client, {}, 1, { changed() {}, notify() {}, signedOut() {} });
  const later = globalThis.setTimeout;
  globalThis.setTimeout = () => 0; // otherwise the page would read the list again
  const shown = [];
  for (const _ of lists) {
    await shop.watch();
    shown.push(shop.vouchers.map((v) => v.id).join());
  }
  globalThis.setTimeout = later;
  return shown.join(' ');
})`)
	if want := "6,5,3,2,4,1 6,5,3,2,4,1"; got != want {
		t.Errorf("the cards are %s, want %s", got, want)
	}
}

// TestGuardsAnswers checks how the page handles guards' refusals: a long one is shown at once; one that does not tell
// whether there is an order leaves the outcome unknown; and a short wait is waited out.
func TestGuardsAnswers(t *testing.T) {
	t.Parallel()
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, `import('/assets/client.js').then(async ({ Client }) => {
  const answer = (status, code, wait, data) => () =>
    new Response(JSON.stringify({ success: status === 201, code, data }), { status, headers: wait ? { 'Retry-After': wait } : {} });
  const guard = (known) => ({ guard: 'conditions', orderKnown: known });
  const is = [];
  for (const answers of [
    [answer(429, 'COOL_DOWN', 1200, guard(true))],
    [answer(429, 'COOL_DOWN', 0, guard(true))],
    [answer(429, 'RATE_LIMITED', 31)],
    [answer(429, 'RATE_LIMITED', 0.01), answer(201, '', 0, { orderId: '5', status: 'queued' })],
    [answer(500, 'INTERNAL', 0.01), answer(403, 'NOT_ELIGIBLE', 0, guard(false))],
    [answer(500, 'INTERNAL', 0.01), answer(403, 'NOT_ELIGIBLE', 0, guard(true))],
  ]) {
    globalThis.fetch = async () => answers.shift()();
    const outcome = await new Client().buy(7);
    is.push(outcome.refused ?? outcome.orderId);
  }
  return is.join();
})`)
	if want := "COOL_DOWN,COOL_DOWN,RATE_LIMITED,5,UNKNOWN_OUTCOME,NOT_ELIGIBLE"; got != want {
		t.Errorf("outcomes: %s, want %s", got, want)
	}
}

// TestPressWithoutTicket checks that the page sends a purchase without a ticket if it cannot get one, and always first
// after an unknown outcome, because the purchase finds existing orders. A press that waits for a ticket survives a busy
// service until the start.
func TestPressWithoutTicket(t *testing.T) {
	t.Parallel()
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, `import('/assets/buyer/shop.js').then(async ({ Shop }) => {
  const now = Date.now();
  const at = (ms) => new Date(now + ms).toISOString();
  const sale = (begin) => ({ id: 7, type: 1, status: 1, beginTime: at(begin), endTime: at(3.6e6), ticketsFrom: at(-6e5) });
  const run = async (begin, tickets, outcomes, phase) => {
    sessionStorage.clear();
    const asked = [];
    const client = {
      clock: { now: () => Date.now() },
      ticket: async (id, solution) => (asked.push('ticket' + solution), tickets.shift() ?? { success: false, status: 403, code: 'ENDED' }),
      buy: async (id, { ticket }) => (asked.push('buy' + ticket), outcomes.shift()),
      orders: async () => ({ success: true, data: [] }), // read whenever that may help
      order: async () => ({ success: false, status: 404 }), follow: () => () => {}, vouchers: async () => ({ success: false, status: 503 }),
    };
    const shop = new Shop(client, { token: 'A', user: '42' }, 1, { changed() {}, notify() {}, signedOut() {} });
    shop.tickets.solve = async () => '!';
    if (phase) shop.presses.set(7, { phase });
    await shop.press(sale(begin));
    const press = shop.presses.get(7);
    return asked.join() + '=' + (press ? press.code ?? press.phase : 'order');
  };
  globalThis.setTimeout = ((later) => (f) => later(f, 0))(globalThis.setTimeout); // pauses take no time
  const busy = { success: false, status: 503, code: 'UNAVAILABLE' };
  const work = { success: false, status: 403, code: 'CHALLENGE_REQUIRED', data: { challenge: {} } };
  const given = (begin) => ({ success: true, status: 200, data: { ticket: 'T', usableFrom: at(-1e3), validUntil: at(6e5), beginTime: at(begin) } });
  const bought = { orderId: '5', status: 'unpaid' };
  return [
    await run(-1e3, [], [bought]),
    await run(-1e3, [], [{ refused: 'TICKET_REQUIRED' }]),
    await run(-1e3, [], [bought], 'unknown'),
    await run(-1e3, [given(-1e3)], [{ refused: 'TICKET_REQUIRED' }, bought], 'unknown'),
    await run(-1e3, [given(-1e3)], [{ refused: 'UNKNOWN_OUTCOME' }]),
    await run(-1e3, [work, busy, given(-1e3)], [bought]),
    await run(6e5, [...Array(9).fill(busy), given(6e5)], [bought]),
    await run(-1e3, [given(6e5), given(-1e3)], [bought]),
    await run(-1e3, [{ success: false, status: 403, code: 'NOT_STARTED', data: { ticketsFrom: at(5e5) } }, given(-1e3)], [bought]),
  ].join('\n');
})`)
	want := strings.Join([]string{
		"ticket,buy=order", "ticket,buy=ENDED", "buy=order", "buy,ticket,buyT=order", "ticket,buyT=unknown",
		"ticket,ticket!,ticket!,buyT=order", strings.Repeat("ticket,", 10) + "buyT=order", "ticket,ticket,buyT=order",
		"ticket,ticket,buyT=order",
	}, "\n")
	if got != want {
		t.Errorf("asked:\n%s\nwant:\n%s", got, want)
	}
}

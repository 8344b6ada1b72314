package browser

import "testing"

// TestAnotherUserSignsIn: a buyer's pending requests are never sent, and their answers never shown, as the user who signs in
// next on the same page.
func TestAnotherUserSignsIn(t *testing.T) {
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

// TestStaleListLeavesTheButtonAlive: while a store hangs, a list may say that nothing is left or that the sale is paused. The
// button goes by the window and by the answer to a purchase, and a fresh list counts again.
func TestStaleListLeavesTheButtonAlive(t *testing.T) {
	w := open(t, embeddedShop(t).url("/"), desktop())
	got := evaluate[string](w, `Promise.all([import('/assets/buyer/shop.js'), import('/assets/buyer/state.js')]).then(async ([{ Shop }, { stateOf }]) => {
  const now = Date.parse('2026-11-11T20:00:00Z');
  const sale = (saleState, stock) => ({ id: 7, type: 1, status: 1, stock, saleState,
    beginTime: '2026-11-11T19:00:00Z', endTime: '2026-11-11T21:00:00Z' });
  const states = [];
  for (const [saleState, stock] of [['sold_out', 0], ['paused', 5], ['preparing', 0], ['on_sale', 5], ['ended', 0], ['off_shelf', 5]]) {
    for (const stale of [true, undefined]) {
      const client = { clock: { now: () => now }, vouchers: async () => ({ success: true, stale, data: [sale(saleState, stock)] }) };
      const shop = new Shop(client, {}, 1, { changed() {}, notify() {}, signedOut() {} });
      const later = globalThis.setTimeout;
      globalThis.setTimeout = () => 0; // it would read the list again
      await shop.watch();
      globalThis.setTimeout = later;
      states.push(stateOf(shop.vouchers[0], now));
    }
  }
  return states.join();
})`)
	if want := "grab,sold_out,grab,paused,grab,preparing,grab,grab,ended,ended,off_shelf,off_shelf"; got != want {
		t.Errorf("stale and fresh: %s, want %s", got, want)
	}
}

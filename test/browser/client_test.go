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

package browser

import (
	"strings"
	"testing"

	"seckill/internal/testkit"
)

// TestTabsAgree checks that a second tab of the same browser follows what a buyer does in the first: buying,
// cancelling, signing out and in. It asks the service instead of trusting the other tab.
func TestTabsAgree(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	first := open(t, s.url("/"), desktop())
	first.sees(button("grab"), "")
	second := first.tab(s.url("/"))
	second.sees(button("grab"), "")
	second.seesNo(".orders")

	first.click(button("grab"))
	first.click("[data-act=demo]")
	first.sees(button("unpaid"), "Pay")
	second.sees("[data-act=account]", "Sign out")
	second.sees(button("unpaid"), "Pay")
	second.sees(".order .tag", "To be paid")
	if got := second.purchases(); got != 0 {
		t.Errorf("the second tab has sent %d purchases", got)
	}

	second.click(".order [data-act=cancel]")
	second.click("dialog .button.danger")
	second.sees(".order .tag", "Cancelled")
	first.sees(".order .tag", "Cancelled")
	first.sees(button("grab"), "Grab it")

	first.press("[data-act=account]")
	first.seesNo(".orders")
	second.sees("[data-act=account]", "Sign in")
	second.seesNo(".orders")
	second.seesNo("dialog") // the buyer signed out deliberately
}

// TestOrdersUnknown checks that the page does not say that there are no orders while it cannot read them, and finds
// them later by itself.
func TestOrdersUnknown(t *testing.T) {
	t.Parallel() // it mostly waits
	s := realShop(t)
	s.onSale("50 for 10", 5)
	p := testkit.NewProxy(t, s.server.Addr)
	p.Refuse("GET /order")
	w := open(t, s.through(p), s.signedIn(phone(), 42))
	w.sees(".orders", "Loading your orders")
	w.sees(".orders .note.warn", "cannot be read right now")
	if strings.Contains(w.text(), "no orders yet") {
		t.Errorf("it says that there are none:\n%s", w.text())
	}
	w.sees(button("grab"), "Grab it") // unknown orders do not block a purchase
	w.accessible()
	p.Heal()
	w.sees(".orders", "You have no orders yet")
	w.seesNo(".orders .note")
}

// TestSlowNetwork checks that at 200 kbit/s and 400 ms latency the page loads in one wave of requests, with at most
// 60,000 bytes, and that its button works.
func TestSlowNetwork(t *testing.T) {
	t.Parallel()
	const most = 60_000 // bytes, compressed, without headers; with the lists that it needs
	s := realShop(t)
	s.onSale("50 for 10", 5)
	d := phone()
	d.slow = true
	w := open(t, s.url("/"), s.signedIn(d, 42))
	w.sees(button("grab"), "Grab it for ¥10")
	got := evaluate[load](w, loads)
	t.Logf("usable after %.1f s, %.0f bytes (with headers %.0f) in %d requests",
		got.Usable/1000, got.Bytes, got.Wire, got.Requests)
	if got.Bytes < 10_000 || got.Bytes > most {
		t.Errorf("%.0f bytes were received; want at most %d", got.Bytes, most)
	}
	w.loadedAtOnce()
	w.click(button("grab"))
	w.sees(button("unpaid"), "Pay")
	if got := w.purchases(); got != 1 {
		t.Errorf("%d orders were sent, want 1", got)
	}
}

// TestSlowConsole checks that the console loads in one wave of requests as well, and logs how long that takes.
func TestSlowConsole(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	d := desktop()
	d.slow = true
	w := open(t, s.url("/admin"), s.asAdmin(d))
	w.sees("h1", "")
	t.Logf("usable after %.1f s", evaluate[float64](w, "performance.now()")/1000)
	w.loadedAtOnce()
}

// loadedAtOnce checks that the page asked for its modules at once, and not after one that imports them had arrived.
func (w *window) loadedAtOnce() {
	w.tb.Helper()
	late := evaluate[string](w, `(() => {
  const preloaded = new Set([...document.querySelectorAll('link[rel=modulepreload], script[src]')].map((e) => e.href || e.src));
  return performance.getEntriesByType('resource').map((e) => e.name).filter((name) => /\.js$/.test(name) && !preloaded.has(name)).join(' ');
})()`)
	if late != "" {
		w.tb.Errorf("%s is no modulepreload of the page", late)
	}
}

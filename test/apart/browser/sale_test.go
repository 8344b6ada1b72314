package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"seckill/internal/testkit"
)

// TestCountdown checks that the button opens, without a reload, when the sale begins by the server's clock, not the
// browser's.
func TestCountdown(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	d := desktop()
	d.script = "{ const now = Date.now; Date.now = () => now() + 7200e3; }" // two hours fast
	w := open(t, s.url("/"), d)
	begin := time.Now().Add(40 * time.Second) // time enough for a busy machine to show, check and picture the page
	s.offer("50 for 10", 5, begin, begin.Add(time.Hour), "not_started")
	w.visit(s.url("/"))
	w.sees(button("not_started"), "Not started yet")
	w.sees(".clock", "Starts in")
	w.accessible()
	w.picture("buyer-not-started-desktop", false)
	w.click(button("not_started")) // must do nothing
	w.seesNo("dialog")
	w.sees(button("grab"), "Grab it")
	if opened := time.Now(); opened.Before(begin) {
		t.Errorf("it opened %s too early", begin.Sub(opened))
	}
	w.sees(".clock", "Ends in")
	w.until("document.getElementById('announcer').textContent.includes('the sale has started')")

	// When the page looks again: at the next moment at which time alone changes a sale.
	got := evaluate[string](w, `import('/assets/buyer/state.js').then(({ untilChange }) => {
  const at = (seconds) => new Date(seconds * 1000).toISOString();
  const sale = { ticketsFrom: at(60), beginTime: at(120), endTime: at(180) };
  return [59.5, 60, 119.9, 150, 180].map((now) => untilChange([{}, sale], now * 1000)).join(' ');
})`)
	if want := "500 60000 100 30000 Infinity"; got != want {
		t.Errorf("the page looks again after %s ms, want %s", got, want)
	}
}

// TestStates checks that a card shows its sale's state and follows its changes.
func TestStates(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	now := time.Now()
	ending := s.offer("Ends soon", 5, now.Add(-time.Hour), now.Add(25*time.Second), "on_sale")
	paused := s.onSale("Coffee for two", 40)
	s.must("POST", fmt.Sprintf("/voucher/%d/pause", paused), admin, nil, nil)
	s.awaitState(paused, "paused")
	cinema := s.offer("Cinema, two seats", 200, now.Add(-time.Hour), now.Add(50*time.Hour), "on_sale")
	s.offer("Tonight at eight", 5000, now.Add(3*time.Hour), now.Add(5*time.Hour), "not_started")
	var ordinary struct{ ID int64 }
	s.must("POST", "/voucher", admin, map[string]any{
		"shopId": 1, "title": "Any day", "subTitle": "As many as you like", "payValue": 9000, "actualValue": 10000,
	}, &ordinary)

	d := desktop()
	d.height = 760
	w := open(t, s.url("/"), s.signedIn(d, 42))
	w.sees(button("paused"), "Paused")
	w.sees(button("not_started"), "Not started yet")
	w.sees(button("grab"), "Buy for ¥90")
	card := func(voucher int64) string { return fmt.Sprintf("article[aria-labelledby=voucher-%d] ", voucher) }

	for user := range int64(83) {
		s.must("POST", fmt.Sprintf("/voucher/seckill/%d", cinema), 1000+user, nil, nil)
	}
	w.sees(card(cinema)+".stock", "117 of 200 left")
	w.picture("buyer-shop-desktop", false)
	w.click(card(ordinary.ID) + "button")
	w.sees(".order h3", "Any day")
	w.sees(".order .tag", "To be paid")
	// Ordinary vouchers can be bought any number of times, but not twice by accident.
	w.sees(card(ordinary.ID)+".card-note.good", "Bought.")
	w.click(card(ordinary.ID) + button("grab"))
	w.sees("dialog", "You have one of these already")
	w.accessible()
	w.picture("buyer-another-desktop", false)
	w.keys(kb.Escape)
	w.seesNo("dialog")
	w.click(card(ordinary.ID) + button("grab"))
	w.click("[data-act=another]")
	w.sees(card(ordinary.ID)+".card-note.good", "You have bought 2 of these.")
	if got := len(s.orders(42)); got != 2 {
		t.Errorf("the buyer has %d orders, want 2", got)
	}

	w.sees(card(ending)+button("ended"), "Ended")
	w.accessible()
	w.picture("buyer-states-desktop", true)

	s.must("POST", fmt.Sprintf("/voucher/%d/resume", paused), admin, nil, nil)
	w.sees(card(paused)+button("grab"), "Grab it for ¥10")
	s.must("PATCH", fmt.Sprintf("/voucher/%d", paused), admin, map[string]any{"status": 2}, nil)
	w.sees(card(paused)+button("off_shelf"), "No longer offered")
}

// TestUnreachable checks that the page says that the shop cannot be reached, sends nothing wrong, and recovers by
// itself.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	p := testkit.NewProxy(t, s.server.Addr)
	w := open(t, s.through(p), phone())
	w.sees(button("grab"), "")
	p.Cut()
	w.sees(".note.warn", "not up to date")
	w.accessible()
	w.picture("buyer-unreachable-phone", false)
	p.Heal()
	w.seesNo(".note.warn")
}

// TestExpiredToken checks that with an expired token the page asks to sign in and buys nothing meanwhile.
func TestExpiredToken(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("50 for 10", 5)
	d := phone()
	d.script = "if (location.host && !localStorage.getItem('seckill.token')) localStorage.setItem('seckill.token', " +
		"'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiIsImV4cCI6OTk5OTk5OTk5OX0.forged');"
	w := open(t, s.url("/"), d)
	w.sees("dialog", "You are signed out")
	w.enter("#token", "nonsense")
	w.click("dialog form button")
	w.sees("#token-problem", "This is not a token")
	w.accessible()
	evaluate[bool](w, "document.querySelector('#token').value = '', true")
	w.enter("#token", "Bearer "+s.token(42))
	w.click("dialog form button")
	w.seesNo("dialog")
	w.click(button("grab"))
	w.sees(button("unpaid"), "Pay")
	if got, want := fmt.Sprint(s.orders(42)), fmt.Sprintf("[%d unpaid]", voucher); got != want {
		t.Errorf("the buyer has %s, want %s", got, want)
	}
}

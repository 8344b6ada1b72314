package browser

import (
	"fmt"
	"net/http"
	"testing"
)

// TestOwnThingsFirst checks that what a buyer has stands above what is on offer, that the most urgent of it stays in
// view with its countdown and its button, and that an order that comes while the page is open moves no button.
func TestOwnThingsFirst(t *testing.T) {
	t.Parallel()
	for _, d := range []device{phone().in("zh-CN").inDark(), desktop()} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := realShop(t, "SECKILL_SITE_NAME", "Nudelhaus", "SECKILL_SITE_COLOUR", "#0b6b45")
			bought := s.onSale("Cinema, two seats", 5)
			waited, order := s.soldOutWithList(600)
			next := s.onSale("Noodles for two", 5)
			s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=30s", bought), 42, nil, nil)
			s.must(http.MethodPost, onList(waited, ""), 42, nil, nil)
			s.must(http.MethodPost, "/order/"+order+"/cancel", 7, nil, nil)
			s.invited(waited, 42)
			d.script += `
window.told = [];
window.Notification = class {
  static permission = 'granted';
  constructor(title, { body }) { told.push(title + ': ' + body); }
  close() {}
};`
			w := open(t, s.url("/"), s.signedIn(d, 42))
			w.sees(".brand", "Nudelhaus")
			w.until("document.title.includes('Nudelhaus')")
			w.until("!getComputedStyle(document.documentElement).getPropertyValue('--accent').includes('#b93312')")
			w.sees(".own [data-place]", "")
			w.sees(".own .order .tag", "")
			w.until("(top => top('.own') < top('.cards'))(" +
				"(of) => document.querySelector(of).getBoundingClientRect().top)")
			w.until("document.querySelector('.own li:first-child [data-place]') !== null") // the invitation comes first
			w.until(`/09:\d\d/.test(document.querySelector('.urgent[data-urgent=invited]').innerText)`)
			evaluate[bool](w, "scrollTo(0, document.body.scrollHeight), true")
			w.until("(r => r.bottom <= innerHeight + 1 && r.top > 0)(document.querySelector('.urgent')" +
				".getBoundingClientRect())")
			w.accessible()
			w.picture("buyer-own-"+d.name+d.language, true)
			w.click("[data-act=urgent]")
			w.until("document.querySelector('.urgent[data-urgent=unpaid]') !== null")
			w.until("document.querySelectorAll('.own .order [data-act=pay]').length === 2") // both are there
			w.accessible()

			card := fmt.Sprintf("document.getElementById('voucher-%d').closest('.card')"+
				".querySelector('.button.wide')", next)
			evaluate[bool](w, card+".scrollIntoView({ block: 'center' }), true")
			before := evaluate[float64](w, card+".getBoundingClientRect().top")
			evaluate[bool](w, card+".click(), true")
			w.until(card + ".dataset.state === 'unpaid'")
			w.until("document.querySelectorAll('.own .order').length === 3")
			after := evaluate[float64](w, card+".getBoundingClientRect().top")
			if after < before-2 || after > before+2 {
				t.Errorf("the button has moved from %.0f to %.0f", before, after)
			}
		})
	}
}

// TestNotifiedElsewhere checks that a buyer who waits is asked for consent once, and that their turn is notified while
// they look at another page; and that a missed turn is not announced as joining.
func TestNotifiedElsewhere(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher, order := s.soldOutWithList(30)
	d := desktop()
	d.script = `
window.told = []; window.said = [];
window.Notification = class {
  static permission = 'default';
  static async requestPermission() { return (Notification.permission = 'granted'); }
  constructor(title, { body }) { told.push(title + ': ' + body); }
  close() {}
};
new MutationObserver(() => {
  const text = document.querySelector('#announcer')?.textContent;
  if (text && said.at(-1) !== text) said.push(text);
}).observe(document, { subtree: true, childList: true, characterData: true });`
	w := open(t, s.url("/"), s.signedIn(d, 42))
	w.click(button("waitable"))
	w.click("[data-act=notify]")
	w.seesNo("[data-act=notify]")
	s.must(http.MethodPost, onList(voucher, ""), 9, nil, nil) // who is invited next
	evaluate[bool](w, "Object.defineProperty(document, 'hidden', { configurable: true, value: true }), true")
	s.must(http.MethodPost, "/order/"+order+"/cancel", 7, nil, nil)
	w.until("told.length === 1")
	const want = "A unit is kept for you: 50 for 10: one has come back and is kept for you. " +
		"Take it before the time is over."
	if got := evaluate[string](w, "told[0]"); got != want {
		t.Errorf("the notification says %q, want %q", got, want)
	}
	evaluate[bool](w, "delete document.hidden, true")
	w.until("said.some(text => text.includes('moved to the back'))")
	if got := evaluate[int](w, "said.filter(text => text.includes('you are on the waiting list')).length"); got != 1 {
		t.Errorf("joining is announced %d times", got)
	}
}

// TestPausedPlace checks that an invitation whose sale is paused is shown as paused, also past its time.
func TestPausedPlace(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher, order := s.soldOutWithList(30)
	s.must(http.MethodPost, onList(voucher, ""), 42, nil, nil)
	s.must(http.MethodPost, "/order/"+order+"/cancel", 7, nil, nil)
	s.invited(voucher, 42)
	s.must(http.MethodPost, fmt.Sprintf("/voucher/%d/pause", voucher), admin, nil, nil)
	w := open(t, s.url("/"), s.signedIn(phone(), 42))
	w.sees(button("paused"), "Paused")
	w.sees(".own [data-place]", "The sale is paused")
	w.seesNo(".urgent") // there is nothing that the buyer can do
	evaluate[bool](w, `(() => {
  window.states = new Set();
  new MutationObserver(() => states.add(document.querySelector('.card button[data-state]').dataset.state))
    .observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  return true;
})()`)
	s.must(http.MethodPost, fmt.Sprintf("/voucher/%d/resume", voucher), admin, nil, nil)
	w.sees(button("invited"), "Take it for")
	if got := evaluate[bool](w, "states.has('passing')"); got {
		t.Error("it said that the time is up")
	}
}

package browser

import "testing"

// TestDocs: the description of the interface fits a telephone, is searched, and its requests can be made there.
func TestDocs(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	for _, d := range []device{desktop(), phone()} {
		t.Run(d.name, func(t *testing.T) {
			w := open(t, s.url("/docs"), d)
			w.sees("h1", "seckill")
			w.until("document.querySelectorAll('main').length === 1")
			w.picture("docs-"+d.name, false)
			if wide := evaluate[int](w,
				"document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
				t.Errorf("%d pixels to scroll sideways", wide)
			}
			w = open(t, s.url("/docs#tag/buying/POST/voucher/seckill/{id}"), d)
			w.sees("main", "Press the button")
			press := func(text string) {
				t.Helper()
				evaluate[bool](w, `new Promise(done => { const look = () => { const b = [...document.querySelectorAll(
					'button')].find(b => b.innerText.includes('`+text+`') && b.checkVisibility());
					b ? (b.click(), done(true)) : setTimeout(look, 50) }; look(); })`)
			}
			press("Test Request")
			press("Send")
			w.sees("[role=dialog]", "orderId")
			w.picture("docs-try-"+d.name, false)
		})
	}
}

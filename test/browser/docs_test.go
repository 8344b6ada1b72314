package browser

import "testing"

// TestDocs: the description of the interface is searched and tried, fits a telephone, and begins there with more than
// its menu.
func TestDocs(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	for _, d := range []device{desktop(), phone()} {
		t.Run(d.name, func(t *testing.T) {
			w := open(t, s.url("/docs"), s.asAdmin(d))
			w.sees("h1", "HTTP interface")
			w.accessible()
			w.picture("docs-"+d.name, false)
			if wide := evaluate[int](w,
				"document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
				t.Errorf("%d pixels to scroll sideways", wide)
			}
			if d.name == phone().name {
				if at := evaluate[float64](w, "document.querySelector('h1').getBoundingClientRect().top"); at > 500 {
					t.Errorf("it begins %v pixels down", at)
				}
			}
			shown := func() int {
				return evaluate[int](w,
					"[...document.querySelectorAll('main article')].filter(a => a.checkVisibility()).length")
			}
			all := shown()
			w.enter("#search", "buy sold_out")
			w.sees("#found", " of ")
			if n := shown(); n == 0 || n > all/4 {
				t.Errorf("%d of %d routes and schemas are about buying and SOLD_OUT", n, all)
			}
			w.click("#buySeckill .button")
			w.click("#buySeckill .try-act .button:nth-child(2)")
			w.sees("#buySeckill .try", "Token")
			evaluate[bool](w, "new Promise(done => { const look = () => document.querySelectorAll('#buySeckill .try "+
				"input')[1].value ? done(true) : setTimeout(look, 50); look(); })")
			w.click("#buySeckill .try-act .button")
			w.sees("#buySeckill .try pre", "orderId")
			w.accessible()
			w.picture("docs-try-"+d.name, false)
			id := evaluate[string](w,
				"/orderId\": \"(\\d+)/.exec(document.querySelector('#buySeckill .try pre').innerText)[1]")
			w.click("#buySeckill a[href='#schema-PurchaseAnswer']") // what the search has hidden
			evaluate[bool](w, "new Promise(done => { const look = () => "+
				"document.querySelector('#schema-PurchaseAnswer').checkVisibility() ? done(true) : "+
				"setTimeout(look, 50); look(); })")
			w.click("#showOrder .button")
			if path := evaluate[string](w,
				"document.querySelector('#showOrder .try input').value"); path != "/order/"+id {
				t.Errorf("the order that was bought, %s, is to be read at %s", id, path)
			}
			w.click("#listSales .button")
			w.sees("#listSales .try", "Token of an admin")
			if w.click("#listSales .try-act .button"); evaluate[int](w,
				"document.querySelectorAll('#listSales .try-act .button').length") != 1 {
				t.Error("an admin's route offers to become a buyer")
			}
			w.sees("#listSales .try pre", "200") // the console's token
		})
	}
}

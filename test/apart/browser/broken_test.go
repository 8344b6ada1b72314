package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// breaks returns the device with answers of the wrong shape to requests whose path has the text.
func (d device) breaks(path, answer string) device {
	d.script += fmt.Sprintf(`
window.fetch = ((ask) => (path, options) => String(path?.url ?? path).includes(%s) && !window.healed
  ? Promise.resolve(new Response(%s, { headers: { 'Content-Type': 'application/json' } }))
  : ask(path, options))(window.fetch);`, quoted(path), quoted(answer))
	return d
}

// forgetsErrors forgets the errors on the console, of which there must be some.
func (w *window) forgetsErrors() {
	w.tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.errors) == 0 {
		w.tb.Error("the error that broke the page is not on the console")
	}
	w.errors = nil
}

// TestBrokenPage checks that a page that cannot be shown says so, that one whose reading failed does as well, and that
// the navigation leads from both to the other pages.
func TestBrokenPage(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Noodles for ten", 3)
	report := s.url(fmt.Sprintf("/admin#/report/%d", voucher))
	for _, c := range []struct {
		d                      device
		says, partly, vouchers string
	}{
		{desktop(), "This page could not be shown", "may not show everything", "Vouchers"},
		{phone().in("zh-CN").inDark(), "无法显示此页面", "内容可能不完整", "优惠券"},
	} {
		w := open(t, report, s.asAdmin(c.d).breaks("/report", `{"success":true,"data":{}}`))
		w.sees("[data-broken]", c.says)
		w.accessible()
		w.picture("console-broken-"+c.d.name, false)
		w.click(".places a[href='#/vouchers']")
		w.sees("h1", c.vouchers)
		w.sees(".sheet a", "Noodles for ten")
		w.seesNo("[data-broken]")
		w.forgetsErrors()

		w = open(t, s.url("/admin#/sales"), s.asAdmin(c.d).breaks("/admin/sale", `{"success":true,"data":{}}`))
		w.sees("[data-broken]", c.partly)
		w.accessible()
		w.click(".places a[href='#/vouchers']")
		w.sees(".sheet a", "Noodles for ten")
		w.seesNo("[data-broken]")
		w.forgetsErrors()
	}
}

// TestEveryReport opens the reports of a sale to come, one that runs, one with guards, one that has ended, and of an
// ordinary voucher, wide and narrow. None has an error or is wider than the window.
func TestEveryReport(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_GUARD_SECRET", "q7x!mEr2-only-for-guards-Zk91-tests-88")
	now := time.Now()
	guarded := s.onSale("Guarded", 5)
	s.must(http.MethodPatch, fmt.Sprintf("/voucher/%d", guarded), admin, map[string]any{"guards": map[string]any{
		"limits":    map[string]any{"perUser": map[string]any{"requests": 9, "seconds": 10}},
		"coolDown":  map[string]any{"expired": 3, "minutes": 60},
		"challenge": map[string]any{"difficulty": 2, "maxDifficulty": 4, "dryRun": true},
		"tickets":   map[string]any{"delayMs": 1000, "leadMinutes": 5, "expiryMinutes": 5},
	}}, nil)
	soon := time.Now().Add(8 * time.Second) // time enough for a busy machine to see it on sale
	ended := s.offer("Noodles for ten", 5, now.Add(-time.Hour), soon, "on_sale")
	s.awaitState(ended, "ended")
	var ordinary struct {
		ID int64 `json:"id"`
	}
	s.must(http.MethodPost, "/voucher", admin, map[string]any{
		"shopId": 1, "title": "Tea", "payValue": 100, "actualValue": 200,
	}, &ordinary)
	reports := map[int64]string{
		s.offer("Tonight at eight", 50, now.Add(3*time.Hour), now.Add(5*time.Hour), "not_started"): "not begun",
		s.onSale("Cinema, two seats", 5): "never sold out",
		guarded:                          "Dry run",
		ended:                            "never sold out",
		ordinary.ID:                      "Tea",
	}
	narrow := phone()
	narrow.width = 360
	for _, d := range []device{desktop(), narrow} {
		w := open(t, s.url("/admin#/start"), s.asAdmin(d))
		for voucher, says := range reports {
			w.visit(s.url(fmt.Sprintf("/admin#/report/%d", voucher)))
			w.sees("h1", fmt.Sprintf("#%d", voucher))
			w.sees("main", says)
			w.until("document.documentElement.scrollWidth <= innerWidth")
			w.seesNo("[data-broken]")
			w.picture(fmt.Sprintf("console-report-%d-%d", voucher, d.width), true)
			w.visit(s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)))
			w.sees("h1", fmt.Sprintf("#%d", voucher))
			w.until("document.documentElement.scrollWidth <= innerWidth")
			w.picture(fmt.Sprintf("console-voucher-%d-%d", voucher, d.width), true)
		}
	}
}

package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// outside finds elements whose own text overflows their card, tile or panel, or the window.
const outside = `[...document.querySelectorAll('.card *, .tile *, .panel *, .sheet *, h1')].filter(e => {
  if (!e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest('.unseen')) return false;
  const range = document.createRange();
  range.selectNodeContents(e);
  const text = range.getBoundingClientRect(), frame = (e.closest('.card, .tile, .panel, .sheet') ?? document.body).getBoundingClientRect();
  return text.width > 1 && (text.right > frame.right + 1 || text.right > innerWidth + 1);
}).map(e => e.tagName + '.' + e.className + ': ' + e.textContent.trim()).join(' | ')`

// TestOddVouchers checks that long titles, markup in texts, extreme prices, and one or millions of units fit into a
// narrow window, on the buyer's page and in the console.
func TestOddVouchers(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	now := time.Now()
	var last struct{ ID int64 }
	for _, v := range []struct {
		title             string
		pay, worth, stock int64
	}{
		{strings.Repeat("限时特惠双人自助晚餐", 6), 1000, 5000, 9_007_199},
		{"<b>Bold</b> & “quotes” <img src=x onerror=alert(1)>", 0, 5000, 1},
		{strings.Repeat("Averylongword", 5), 100_000_000_00, 100_000_000_000, 100_000_000},
	} {
		s.must(http.MethodPost, "/voucher/seckill", admin, map[string]any{
			"shopId": 1, "title": v.title, "subTitle": "<i>In</i> the old town", "payValue": v.pay,
			"actualValue": v.worth, "stock": v.stock,
			"beginTime": now.Add(-time.Hour), "endTime": now.Add(5 * time.Hour), "perUser": 2,
		}, &last)
		s.awaitState(last.ID, "on_sale")
	}
	narrow := device{name: "narrow", width: 360, height: 740, touch: true}
	for _, tt := range []struct {
		device     device
		free, grab string
	}{{narrow, "Free", "Grab it for free"}, {narrow.in("zh-CN").inDark(), "免费", "免费 立即抢购"}} {
		fits := func(w *window) {
			t.Helper()
			if found := evaluate[string](w, outside); found != "" {
				t.Errorf("%s: cut off: %s", tt.device.language, found)
			}
			if wide := evaluate[int64](w, "document.documentElement.scrollWidth"); wide > tt.device.width {
				t.Errorf("%s: it is %d pixels wide", tt.device.language, wide)
			}
			w.accessible()
		}
		w := open(t, s.url("/"), s.signedIn(tt.device, 42))
		w.sees("h2", "<b>Bold</b>")
		w.sees(".price strong", tt.free)
		w.sees(button("grab"), tt.grab)
		fits(w)
		w.picture("buyer-odd-phone"+tt.device.language, true)
		c := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", last.ID)), s.asAdmin(tt.device))
		c.sees(tile("stock"), "100,000,000")
		fits(c)
		c.picture("console-odd-phone"+tt.device.language, true)
		c.visit(s.url("/admin#/vouchers"))
		c.sees("tbody", "<b>Bold</b>")
		fits(c)
	}
}

package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/test/box"
)

// TestPauseKeepsItsPlace checks that Pause stays where it is when a sale begins, and that nothing else turns into it
// under a mouse or a finger, and that the menu of the other actions is in the window.
func TestPauseKeepsItsPlace(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	for _, d := range []device{
		desktop(),
		desktop().in("zh-CN").inDark(),
		{name: "medium", width: 700, height: 900},
		{name: "narrow", width: 360, height: 740},
		{name: "narrow", width: 360, height: 740, language: "zh-CN", dark: true},
	} {
		t.Run(d.name+d.language, func(t *testing.T) {
			t.Parallel()
			name := d.name + d.language
			voucher := s.offer("Tonight at eight", 40, time.Now().Add(3*time.Hour), time.Now().Add(26*time.Hour),
				"not_started")
			w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(d))
			w.sees(".actions > [data-act=before]", "")
			w.sees(".actions > [data-act=pause]", "")
			w.headed()
			w.accessible()
			w.picture("console-actions-before-"+name, false)
			spots := evaluate[string](w, `JSON.stringify(
  [...document.querySelectorAll('.actions > :not(.stop)')].flatMap(e => {
  const { left, right, top, bottom } = e.getBoundingClientRect();
  return [left + 3, (left + right) / 2, right - 3].flatMap(x => [top + 3, (top + bottom) / 2, bottom - 3].map(y => [x, y]));
}))`)
			s.begins(voucher, -time.Minute)
			box.Eventually(t, "the sale having begun", func() error {
				var shown struct{ BeginTime time.Time }
				s.must(http.MethodGet, fmt.Sprintf("/voucher/%d", voucher), admin, nil, &shown)
				if begins := time.Until(shown.BeginTime); begins > 0 {
					return fmt.Errorf("it begins in %s", begins)
				}
				return nil
			})
			w.visit(s.url(fmt.Sprintf("/admin?begun#/voucher/%d", voucher)))
			w.sees(".actions > [data-act=report]", "")
			w.sees(".actions > .danger[data-act=pause]", "")
			w.headed()
			w.accessible()
			w.picture("console-actions-running-"+name, false)
			if n := evaluate[int](w, spots+".filter(([x, y]) => "+
				"document.elementFromPoint(x, y)?.closest('[data-act=pause]')).length"); n > 0 {
				t.Errorf("Pause is now at %d points of other buttons", n)
			}
			w.click("[data-act=menu]")
			w.sees(".menu-list [data-act=calloff]", "")
			w.until("(({ left, right }) => left >= 0 && right <= innerWidth)" +
				"(document.querySelector('.menu-list').getBoundingClientRect())")
			w.picture("console-actions-menu-"+name, false)
		})
	}
}

// headed waits for what stands above the actions of a sale and may come after them: its revenue, and its guards. A line
// that is missing moves the actions up.
func (w *window) headed() {
	w.tb.Helper()
	w.sees("[data-money] b", "")
	w.sees("[data-guard-line]", "")
}

// TestLongTitlesOfDialogs checks that no dialog cuts a long title.
func TestLongTitlesOfDialogs(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	voucher := s.onSale(strings.Repeat("Noodles for two, on the terrace, ", 7), 40)
	for _, d := range []device{desktop(), {name: "narrow", width: 360, height: 740, dark: true}} {
		w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(d))
		for _, act := range []string{"guards", "pause", "restock", "calloff"} {
			w.acts(act)
			w.sees("dialog h2", "Noodles")
			w.until("(h => h.scrollHeight <= h.clientHeight + 1 && h.parentElement.clientHeight >= h.offsetHeight)" +
				"(document.querySelector('dialog h2'))")
			w.picture("console-long-title-"+act+"-"+d.name, false)
			w.escapes()
		}
	}
}

// TestPartitionOfOneProcess checks that the instance that runs on stores of its own counts in its partition.
func TestPartitionOfOneProcess(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/admin#/partitions"), s.asAdmin(desktop()))
	w.until("document.querySelector(\"[data-partition='0'] td:last-of-type\")?.innerText === '1'")
	w.picture("console-partitions-embedded-desktop", false)
}

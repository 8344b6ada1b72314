package browser

import (
	"fmt"
	"testing"
	"time"
)

// TestConsoleArchive archives a voucher whose sale is over, finds it by the filter alone, and restores it. While the
// sale runs, the menu does not offer it.
func TestConsoleArchive(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	running := s.onSale("Cinema, two seats", 5)
	ended := s.offer("Noodles for ten", 5, time.Now().Add(-time.Hour), time.Now().Add(2*time.Second), "on_sale")
	s.awaitState(ended, "ended")
	w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", running)), s.asAdmin(desktop()))
	w.sees(".actions > .danger", "Pause")
	w.seesNo("[data-act=archive]")
	w.visit(s.url(fmt.Sprintf("/admin#/voucher/%d", ended)))
	w.acts("archive")
	w.sees("dialog", "Archive “Noodles for ten”?")
	w.accessible()
	w.picture("console-archive-desktop", false)
	w.click("[data-act=yes]")
	w.sees("h1 [data-archived]", "Archived")
	w.seesNo("[data-act=edit]")
	w.sees("[data-action=archive]", "Archived")

	w.visit(s.url("/admin#/vouchers"))
	rows := func(n int) string {
		return fmt.Sprintf("document.querySelectorAll('.sheet tbody tr').length === %d", n)
	}
	w.until(rows(1))
	chooses := func(filter string) {
		evaluate[bool](w, fmt.Sprintf("document.querySelector('#archived').value = '%s', true", filter))
		w.click("[role=search] button")
	}
	chooses("true")
	w.until(rows(2))
	w.sees(fmt.Sprintf("[data-voucher='%d'] [data-archived]", ended), "Archived")
	w.seesNo(fmt.Sprintf("[data-voucher='%d'] [data-archived]", running))
	w.accessible()
	w.picture("console-archived-desktop", false)
	chooses("only")
	w.until(rows(1) + " && location.hash.includes('archived=only')")
	for _, d := range []device{phone(), phone().in("zh-CN").inDark()} {
		narrow := open(t, s.url("/admin#/vouchers?archived=only"), s.asAdmin(d))
		narrow.sees("[data-archived]", "")
		narrow.accessible()
		narrow.picture("console-archived-"+d.name, false)
	}
	w.visit(s.url(fmt.Sprintf("/admin#/voucher/%d", ended)))
	w.acts("restore")
	w.click("[data-act=yes]")
	w.seesNo("[data-archived]")
	w.sees("[data-action=restore]", "Restored")
}

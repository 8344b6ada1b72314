package browser

import (
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"seckill/test/box"
)

// TestConsoleBefore checks the page before a sale, in both languages, dark, and on a phone. It links to the go or no-go
// list and to rehearsals: one is started, its crowd runs by the command that the page shows, and its forecast stays. A
// sale that is near is named.
func TestConsoleBefore(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.offer("Tonight at eight", 40, time.Now().Add(3*time.Hour), time.Now().Add(5*time.Hour), "not_started")
	w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(desktop()))
	w.click("[data-act=before]")
	w.sees("h1", "Before the sale")
	w.sees("[data-line='sale.window'][data-level=ok]", "40 units from")
	w.sees("[data-line='rehearsal'][data-level=warning]", "not rehearsed")
	w.sees("[data-line='redis.durability'][data-level=no]", "CONFIG SET appendonly yes") // tests keep no AOF
	w.sees("[data-verdict=nogo]", "NO-GO")
	w.sees("[data-age]", " ago, at ")
	w.sees("[data-rehearsals]", "has not been rehearsed")
	w.accessible()

	w.click("[data-act=rehearse]")
	w.sees("dialog", "waits for a crowd that you start")
	w.accessible()
	w.click("[data-act=yes]")
	w.seesNo("dialog")
	w.sees("[data-state=waiting] .command", "loadgen -url")
	w.accessible()
	w.picture("console-before-waiting-desktop", true)
	rehearsal := evaluate[int64](w, "Number(document.querySelector('[data-run]').dataset.run)")
	// Reports progress, as the rehearsal's crowd does.
	s.must(http.MethodPost, fmt.Sprintf("/rehearsal/%d/report", rehearsal), admin, map[string]any{
		"done": false, "buyers": 300, "arrived": 180, "requests": 175, "accepted": 22, "unclear": 0,
		"p50Micros": 4_000, "p99Micros": 31_000,
	}, nil)
	w.sees("[data-state=running] [data-tile=arrived]", "of 300")
	w.accessible()
	w.picture("console-before-running-desktop", true)
	crowd := exec.CommandContext(t.Context(), box.Loadgen(t), "-url", s.url(""), "-voucher",
		strconv.FormatInt(rehearsal, 10), "-buyers", "300", "-duration", "2s", "-connections", "8")
	crowd.Env = []string{"SECKILL_JWT_SECRET=" + box.Secret}
	if out, err := crowd.CombinedOutput(); err != nil {
		t.Fatalf("the crowd: %v\n%s", err, out)
	}
	w.sees("[data-state=done] [data-line='rehearsal.orders'][data-level=ok]", "nothing lost, nothing sold twice")
	w.sees("[data-state=done] [data-line='rehearsal.soldOut'][data-level=ok]", "40 units within")
	w.until("document.querySelector('[data-check] [data-line=rehearsal]').dataset.level !== 'warning'")
	w.click("[data-act=check]")
	w.accessible()
	w.picture("console-before-desktop", true)

	zh := open(t, s.url(fmt.Sprintf("/admin#/before/%d", voucher)), s.asAdmin(desktop().in("zh-CN").inDark()))
	zh.sees("[data-line='sale.window']", "共 40 份")
	zh.sees("[data-state=done] [data-line='rehearsal.soldOut']", "份在首次点击后")
	zh.accessible()
	zh.picture("console-before-dark-zh-desktop", true)
	small := open(t, s.url(fmt.Sprintf("/admin#/before/%d", voucher)), s.asAdmin(phone()))
	small.sees("[data-line='sale.window']", "40 units from")
	small.until("document.documentElement.scrollWidth <= innerWidth")
	small.accessible()
	small.picture("console-before-phone", true)

	s.must(http.MethodPatch, fmt.Sprintf("/voucher/%d", voucher), admin,
		map[string]any{"beginTime": time.Now().Add(30 * time.Minute).UTC().Format(time.RFC3339)}, nil)
	w.click("[data-act=rehearse]")
	w.click("[data-act=yes]")
	w.sees("dialog [role=alert]", fmt.Sprintf("begins within the hour. Rehearse before or after it. (#%d", voucher))
	w.accessible()
}

// TestConsoleCheckEmbedded checks that the list in the embedded mode says that this mode is only for trying out.
func TestConsoleCheckEmbedded(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	voucher := s.offer("Tonight at eight", 40, time.Now().Add(3*time.Hour), time.Now().Add(5*time.Hour), "not_started")
	w := open(t, s.url(fmt.Sprintf("/admin#/before/%d", voucher)), s.asAdmin(desktop()))
	w.sees("[data-line='instances'][data-level=warning]", "one process")
	w.sees("[data-line='ledger.answers']", "a transaction within")
	w.sees("[data-line='redis.answers']", "writes within")
}

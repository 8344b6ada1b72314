package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/test/box"
)

// TestConsolePartitions checks the page of partitions, with their sales and load, and creates a sale in a named
// partition, after a wrong one.
func TestConsolePartitions(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_PARTITIONS", "3")
	if got := box.Command(t, s.server.Settings, "partition", "close", "1"); got.Code != 0 {
		t.Fatalf("closing a partition: %s%s", got.Stdout, got.Stderr)
	}
	draft := box.SeckillDraft(1, 40, time.Now().Add(-time.Hour), time.Now().Add(26*time.Hour))
	draft["partition"] = 2
	box.Eventually(t, "a sale in partition 2, once the instance works there", func() error {
		if status, answer := s.ask(http.MethodPost, "/voucher/seckill", admin, draft); status != http.StatusCreated {
			return fmt.Errorf("%d %s", status, answer)
		}
		return nil
	})
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
	w.click("[data-act=create]")
	for field, value := range map[string]string{
		"title": "100 for 10", "payValue": "10", "actualValue": "100", "stock": "400",
	} {
		w.enter("#f-"+field, value)
	}
	w.unfold()
	create := func(partition, done string) {
		t.Helper()
		evaluate[bool](w, "document.querySelector('#f-partition').value = '', true")
		w.enter("#f-partition", partition)
		w.click("[data-act=save]")
		w.until(fmt.Sprintf(`(() => { // retries while the form says that the service is busy
  if (%s) return true;
  if (document.querySelector('dialog .field-problem[role=alert]')?.innerText) document.querySelector('[data-act=save][aria-disabled=false]')?.click();
  return false;
})()`, done))
	}
	refused := func(says string) string {
		return fmt.Sprintf("document.querySelector('#f-partition-wrong')?.innerText.includes(%s)", quoted(says))
	}
	create("two", refused("This is not a number"))
	create("7", refused("is 7 (0, 2"))
	create("1", refused("is 1, which is closed (0, 2"))
	create("2", "document.querySelector('dialog') === null")
	w.visit(s.url("/admin#/partitions"))
	w.sees("h1", "Partitions")
	w.sees("[data-partition='0']", "open")
	w.sees("[data-partition='1']", "closed: no new sales")
	w.sees("[data-partition='2']", "open")
	// One of the orders is created through the form.
	w.until("Number(document.querySelector(\"[data-partition='2'] td:nth-of-type(3)\").innerText) >= 2")
	// Waits for the second read.
	w.until("document.querySelector(\"[data-partition='2'] td:nth-of-type(9)\").textContent.includes('%')")
	// All columns fit.
	w.until("(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('.sheet'))")
	w.accessible()
	w.picture("console-partitions-desktop", false)
	zh := open(t, s.url("/admin#/partitions"), s.asAdmin(desktop().in("zh-CN").inDark()))
	zh.sees("h1", "分区")
	zh.sees("[data-partition='1']", "已关闭")
	zh.accessible()
	zh.picture("console-partitions-dark-zh-desktop", false)
	phone := open(t, s.url("/admin#/partitions"), s.asAdmin(phone()))
	phone.sees("[data-partition='1']", "closed")
	// On a phone each cell is labelled with its column's name.
	phone.until("getComputedStyle(document.querySelector(\"[data-partition='1'] td\"), '::before').content === " +
		"'\"State\"'")
	phone.accessible()
	phone.picture("console-partitions-phone", true)
}

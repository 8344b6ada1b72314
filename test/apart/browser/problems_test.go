package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
)

// TestProblemsInChinese checks that errors found by the service are shown at their fields, in the page's language and
// in the form's units.
func TestProblemsInChinese(t *testing.T) {
	s := embeddedShop(t)
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop().in("zh-CN").inDark()))
	w.click("[data-act=create]")
	for field, value := range map[string]string{
		"title": strings.Repeat("券", 256), "payValue": "2,000,000,000", "actualValue": "0", "stock": "400000000",
	} {
		w.enter("#f-"+field, value)
	}
	w.sets("#f-payWithin", "100000")
	w.setsTime("endTime", "2026-01-01T10:00:00")
	w.setsTime("beginTime", "2026-01-01T11:00:00")
	w.click("[data-act=save]")
	w.sees("#f-title-wrong", "共 256 个字符")
	w.sees("#f-payValue-wrong", "当前为 2,000,000,000（")
	w.sees("#f-stock-wrong", "当前为 400,000,000（1 到 100,000,000 的整数）")
	w.sees("#f-payWithin-wrong", "当前为 100,000（")
	w.sees("#f-payWithin-wrong", "43,200）")
	w.sees("#f-endTime-wrong", "须晚于“开始时间”。")
	w.accessible()
	w.picture("console-form-wrong-dark-zh-desktop", false)
}

// TestActorsInWords checks that the console has a text for everybody who can change orders.
func TestActorsInWords(t *testing.T) {
	t.Parallel()
	texts, err := os.ReadFile("../../../web/assets/admin/texts.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []order.Actor{
		order.Owner, order.ByRecorder, order.ByExpirer, order.ByUnwinder, order.ByProvider, order.ByPayments,
		order.ByService, redemption.ByLapser, order.ByWaitlist, "till.n", "admin.n",
	} {
		if !strings.Contains(string(texts), fmt.Sprintf("'by.%s': {", by)) {
			t.Errorf("no words for %q", by)
		}
	}
}

package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestConsoleFilters checks that a list's filter is in the address, so that reload, back and a shared address keep it.
// A wrong filter shows no rows and names its field.
func TestConsoleFilters(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	noodles := s.onSale("Noodles for ten", 5)
	s.onSale("Cinema, two seats", 5)
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", noodles), 7, nil, nil)
	box.Eventually(t, "an order that is unpaid", func() error { // because the page reads only once
		if got, want := fmt.Sprint(s.orders(7)), fmt.Sprintf("[%d unpaid]", noodles); got != want {
			return fmt.Errorf("the orders are %s, want %s", got, want)
		}
		return nil
	})
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
	rows := func(n int) string {
		return fmt.Sprintf("document.querySelectorAll('.sheet tbody tr').length === %d", n)
	}
	address := func(has string) string { return fmt.Sprintf("location.hash.includes(%s)", quoted(has)) }
	w.until(rows(2))
	w.enter("#q-title", "NOODLES")
	w.click("[role=search] button")
	w.until(rows(1))
	w.until(address("title=NOODLES"))
	w.visit(s.url("/admin#/audit"))
	w.sees("h1", "Audit trail")
	evaluate[bool](w, "history.back(), true")
	w.until(rows(1))
	w.until("document.querySelector('#q-title').value === 'NOODLES'")
	w.accessible()
	evaluate[bool](w, "document.querySelector('#q-title').select(), true")
	w.enter("#q-title", "nothing like it")
	w.click("[role=search] button")
	w.sees(".note", "No voucher matches")

	w.visit(s.url("/admin#/orders?userId=7&status=unpaid"))
	w.until(rows(1))
	w.until("document.querySelector('#q-userId').value === '7' && document.querySelector('#status').value === 'unpaid'")
	w.enter("#q-voucherId", "seven")
	w.click("[role=search] button")
	w.sees("[data-problem]", "No voucher has “seven”")
	w.until(rows(1))
	w.until("document.querySelector('#q-voucherId').getAttribute('aria-invalid') === 'true'")
	w.accessible()
	w.sets("#q-voucherId", "")
	w.seesNo("[data-problem]")
	w.sets("#q-userId", "seven")
	w.click("[role=search] button")
	w.sees("[role=alert]", "User: This is \"seven\"")
	w.until(rows(0))
	w.until("document.querySelector('#q-userId').getAttribute('aria-invalid') === 'true'")
	w.accessible()
	w.picture("console-wrong-search-desktop", false)
	w.visit(s.url("/admin#/orders"))
	w.until(rows(1))
	w.sets("#q-to", "2026-01-02")
	w.sets("[name='to.clock']", "8.30")
	w.click("[role=search] button")
	w.until(rows(0))
	w.until(address("to=2026-01-02T08%3A30"))
	w.until("document.querySelector(\"[name='to.clock']\").value === '08:30'")
	w.accessible()
	w.visit(s.url("/admin#/sales?phase=ended"))
	w.sees(".note", "No sale is in this phase")
	w.until("document.querySelector('#phase').value === 'ended'")
	w.visit(s.url("/admin#/sales"))
	w.until(rows(2))
}

// TestConsoleOnATelephone checks that no page of the console scrolls sideways at 390 pixels: cells of a table are
// stacked, and numbers are in rows of two.
func TestConsoleOnATelephone(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("五折优惠券，周末与节假日通用，不与其他优惠同享", 40)
	s.offer("Tonight at eight", 5000, time.Now().Add(3*time.Hour+55*time.Minute),
		time.Now().Add(5*time.Hour), "not_started")
	s.startBuyers(voucher, 100, 25)()
	for _, d := range []device{phone(), phone().in("zh-CN").inDark()} {
		w := open(t, s.url("/admin#/vouchers"), s.asAdmin(d))
		for _, place := range []string{
			"start", "vouchers", "sales", "orders", "deadletters", "webhooks", "events", "shops", "audit",
			"partitions",
			fmt.Sprint("voucher/", voucher), fmt.Sprint("report/", voucher),
		} {
			w.visit(s.url("/admin#/" + place))
			w.until("document.querySelector('h1') !== null && ![...document.querySelectorAll('main > " +
				".soft')].some((e) => /Loading|加载中/.test(e.innerText))")
			if place == "vouchers" || place == "sales" || place == "orders" ||
				place == "audit" || place == "partitions" {
				w.sees(".sheet tbody tr", "")
			}
			if wide := evaluate[string](w,
				`[...document.querySelectorAll('*')].filter((e) =>
  e.scrollWidth > e.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && !e.matches('.places') ||
  e === document.documentElement && e.scrollWidth > e.clientWidth).map((e) => e.outerHTML.slice(0, 100)).join('\n')`); wide !=
				"" {
				t.Errorf("%s in %s scrolls sideways:\n%s", place, d.language, wide)
			}
			w.accessible()
			w.picture("console-"+strings.ReplaceAll(place, "/", "-")+"-phone"+
				map[string]string{"zh-CN": "-zh-dark"}[d.language], true)
		}
		w.visit(s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)))
		w.sees(tile("unpaid"), "25")
		w.until("(([a, b, c]) => a.top === b.top && c.top > a.top)([...document.querySelectorAll('.tile')].map((e) " +
			"=> e.getBoundingClientRect()))")
		w.visit(s.url("/admin#/vouchers"))
		w.sees(".sheet", map[string]string{"": "in 3 h", "zh-CN": "3 小时"}[d.language])
	}
}

// TestConsoleSignInWaits checks that signing in says that it is waiting while there is no answer.
func TestConsoleSignInWaits(t *testing.T) {
	t.Parallel() // it mostly waits
	s := realShop(t)
	p := testkit.NewProxy(t, s.server.Addr)
	w := open(t, s.through(p)+"admin", desktop())
	w.sees("h1", "Console")
	p.Blackhole()
	w.enter("#token", s.token(admin))
	w.click("form .button.primary")
	w.sees("form .button.primary", "Signing in")
	w.sees("form [role=status]", "No answer yet")
	w.accessible()
	p.Heal()
	w.getsIn()
}

// getsIn waits until the admin is signed in with the token that was entered. It presses again after a timeout.
func (w *window) getsIn() {
	w.tb.Helper()
	w.until(`(() => {
  if (document.querySelector('h1')?.innerText === 'Start') return true;
  document.querySelector('form .button.primary[aria-disabled=false]')?.click();
  return false;
})()`)
}

// TestConsoleSignInWhileTheDatabaseHangs checks that an admin can sign in, and that lists say that they cannot be read.
func TestConsoleSignInWhileTheDatabaseHangs(t *testing.T) {
	t.Parallel() // it mostly waits
	c, err := mysql.ParseDSN(testkit.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	p := testkit.NewProxy(t, c.Addr)
	c.Addr = p.Addr
	s := realShop(t, "SECKILL_MYSQL_DSN", c.FormatDSN(), "SECKILL_MYSQL_TIMEOUT", "2s")
	w := open(t, s.url("/admin"), desktop())
	w.sees("h1", "Console")
	p.Blackhole()
	w.enter("#token", s.token(admin))
	w.getsIn()
	w.visit(s.url("/admin#/vouchers"))
	w.sees("[role=alert]", "") // the service's reason
	w.accessible()
	p.Heal()
	w.sees(".note", "There are no vouchers yet") // the page reads again by itself
}

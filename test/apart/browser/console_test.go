package browser

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	goredis "github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// asAdmin is the browser of an admin who has signed in to the console.
func (s *shop) asAdmin(d device) device {
	s.tb.Helper()
	d.script += fmt.Sprintf("if (location.host) sessionStorage.setItem('seckill.admin', %s);", quoted(s.token(admin)))
	return d
}

// startBuyers lets users buy, four at a time, as fast as the service answers.
func (s *shop) startBuyers(voucher int64, first, users int64) (wait func()) {
	s.tb.Helper()
	var buying sync.WaitGroup
	const clients = 4
	for client := range int64(clients) {
		buying.Go(func() {
			for user := first + client; user < first+users; user += clients {
				s.ask(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d", voucher), user, nil)
			}
		})
	}
	return buying.Wait
}

// startCrowd is startBuyers for pictures: if pictures are taken, the users come for half a minute, at a falling rate.
func (s *shop) startCrowd(voucher int64, first, users int64) (wait func()) {
	s.tb.Helper()
	if *pictures == "" {
		return s.startBuyers(voucher, first, users)
	}
	var crowd sync.WaitGroup
	crowd.Go(func() {
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for last := first + users; first < last; {
			come := min(last-first, (last-first)/12+1+first%5)
			s.startBuyers(voucher, first, come)()
			first += come
			<-second.C
		}
	})
	return crowd.Wait
}

// tile returns the selector of a number of a watched sale.
func tile(name string) string { return fmt.Sprintf("[data-tile=%s] .tile-value", name) }

// acts clicks an action on a voucher, which may be folded into the menu.
func (w *window) acts(act string) {
	w.tb.Helper()
	button := "[data-act=" + act + "]"
	w.until(fmt.Sprintf("document.querySelector(%s) !== null", quoted(".actions "+button)))
	evaluate[bool](w, fmt.Sprintf("(menu => { if (menu) menu.open = true; return true; })(document.querySelector(%s)"+
		"?.closest('.menu'))", quoted(".actions "+button)))
	w.press(".actions " + button)
}

// TestConsoleSignIn checks that the page says what is wrong with a token, and that a valid one lasts as long as the
// tab.
func TestConsoleSignIn(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	w := open(t, s.url("/admin"), desktop())
	w.sees("h1", "Console")
	w.accessible()
	try := func(token, says string) {
		t.Helper()
		evaluate[bool](w, "document.querySelector('#token').value = '', true")
		w.enter("#token", token+kb.Tab)
		w.click("form .button.primary")
		w.sees("#token-problem", says)
	}
	try("nonsense", "This is not a token")
	try(s.token(42), "This token is neither an admin's nor a merchant's")
	const expired = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIiwicm9sZSI6ImFkbWluIiwiZXhwIjoxfQ."
	try(expired+"x", "This token has expired")
	const forged = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIiwicm9sZSI6ImFkbWluIiwiZXhwIjo5OTk5OTk5OTk5fQ."
	try(forged+"x", "does not accept this token")
	w.accessible()
	w.picture("console-sign-in-desktop", false)
	evaluate[bool](w, "document.querySelector('#token').value = '', true")
	w.enter("#token", "Bearer "+s.token(admin))
	w.click("form .button.primary")
	w.sees("h1", "Start")
	w.visit(s.url("/admin#/audit"))
	w.sees("h1", "Audit trail")
	w.click("[data-act=sign-out]")
	w.sees("h1", "Console")
	w.seesNo(".places")
}

// TestSignInLink checks that the link printed by the service signs its first user in, and tells the second that it was
// used.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	link := s.signInLink()
	w := open(t, s.url(link), desktop())
	w.sees("h1", "Start")
	if address := evaluate[string](w, "location.href"); strings.Contains(address, "sign-in") {
		t.Errorf("the code stays in the address: %s", address)
	}
	w.click("[data-act=sign-out]")
	w.sees("#token", "")
	if problem := evaluate[string](w, "document.querySelector('#token-problem').textContent"); problem != "" {
		t.Errorf("who signs out is told %q", problem)
	}
	// As if it were pasted into the address bar of an open page.
	evaluate[bool](w, fmt.Sprintf("location.hash = %s, true", quoted(strings.TrimPrefix(link, "/admin"))))
	w.sees("#token-problem", "was used already")
	w.accessible()
}

// signInLink waits for the link that the service prints, and returns its path.
func (s *shop) signInLink() (link string) {
	s.tb.Helper()
	box.Eventually(s.tb, "the sign-in link", func() error {
		if link = regexp.MustCompile(`/admin#sign-in=\w+`).FindString(s.server.Log.String()); link == "" {
			return errors.New("not printed")
		}
		return nil
	})
	return link
}

// TestConsoleSale creates a sale (after an invalid form), watches it while it sells, pauses, resumes and restocks it,
// and checks the audit trail.
func TestConsoleSale(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
	w.sees(".note", "There are no vouchers yet")
	w.click("[data-act=create]")
	w.sees("dialog", "New voucher")
	w.until("document.activeElement.id === 'f-title'")
	w.sees("label[for=f-beginTime]", evaluate[string](w, "new Intl.DateTimeFormat('en-GB', {timeZoneName: "+
		"'short'}).formatToParts(new Date()).find(p => p.type === 'timeZoneName').value"))
	w.enter("#f-payValue", "ten")
	w.enter("#f-actualValue", "0")
	w.click("[data-act=save]")
	w.sees("#f-title-wrong", "This is missing")
	w.sees("#f-payValue-wrong", "This is not a number")
	w.sees("#f-actualValue-wrong", "an amount from 0.01") // at once, though the service was not asked
	w.sees("dialog .foot", "Fields to correct: 4. Title")
	w.until("document.activeElement.id === 'f-title'")
	w.replaces("#f-payValue", "10")
	w.enter("#f-title", "100 for 10")
	w.enter("#f-stock", "0")
	w.until("document.querySelector('#f-perUser').value === '1'")
	w.replaces("#f-perUser", "21")
	w.click("[data-act=save]")
	w.sees("#f-stock-wrong", "a whole number from 1")
	w.sees("#f-perUser-wrong", "a whole number from 1 to 20")
	w.sees("#f-actualValue-wrong", "an amount from 0.01")
	w.until("document.activeElement.getAttribute('aria-invalid') === 'true'")
	w.accessible()
	w.picture("console-form-desktop", false)

	w.enter("#f-subTitle", "Noodle house, ground floor")
	for field, value := range map[string]string{
		"payValue": "10", "actualValue": "100", "stock": "400", "perUser": "3",
	} {
		w.replaces("#f-"+field, value)
	}
	w.setsTime("beginTime", w.inHours(-1))
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.sees("h1", "100 for 10")
	w.sees(".tag", "On sale")
	w.sees(".head", "up to 3 per buyer")
	w.sees(tile("stock"), "400")
	voucher := evaluate[int64](w, "Number(location.hash.split('/')[2])")

	wait := s.startCrowd(voucher, 1000, 300)
	w.until("Number(document.querySelector('[data-tile=unpaid] .tile-value').innerText.replace(/,/g, '')) > 270")
	w.picture("console-sale-desktop", true)
	wait()
	w.sees(".over-time [data-peak]", "a second")
	w.sees(tile("unpaid"), "300")
	w.sees("[data-money]", "Revenue ¥0 · ¥10 each, worth ¥100 · up to 3 per buyer")
	w.sees(tile("recorded"), "300")
	w.sees(tile("stock"), "100")
	w.sees("[data-balance=balanced]", "400 issued = 100 left + 0 waiting + 300 recorded")
	w.accessible()

	w.acts("pause")
	w.sees("dialog", "nobody can buy")
	w.accessible()
	w.picture("console-pause-desktop", false)
	w.until("document.activeElement.closest('dialog') !== null && !document.activeElement.matches('.dialog-close')")
	w.click("[data-act=yes]")
	w.sees(".tag", "Paused")
	s.startBuyers(voucher, 2000, 8)()
	w.until("[...document.querySelectorAll('.plain tr')].some(r => r.innerText.includes('Paused') && " +
		"r.innerText.includes('8'))")
	w.acts("resume")
	w.click("[data-act=yes]")
	w.sees(".head .tag", "On sale")
	w.until("document.querySelector('.actions > .danger').dataset.act === 'pause'") // the one action of its state
	w.sees(".marks", "Paused")
	w.sees(".marks", "Resumed")

	w.acts("restock")
	w.until("document.activeElement.id === 'f-delta'")
	w.enter("#f-delta", "-500")
	w.sees("dialog", "500 units are removed")
	w.click("[data-act=yes]")
	w.sees("dialog", "only 100 are left")
	evaluate[bool](w, "document.querySelector('#f-delta').select(), true")
	w.enter("#f-delta", "50")
	w.sees("dialog", "150 are left then")
	w.accessible()
	w.picture("console-stock-desktop", false)
	w.click("[data-act=yes]")
	w.sees(tile("stock"), "150")

	s.startBuyers(voucher, 3000, 200)()
	w.sees(".head .tag", "Sold out")
	w.sees("[data-balance=balanced]", "450 issued = 0 left + 0 waiting + 450 recorded")
	w.until("[...document.querySelectorAll('.plain tr')].some(r => r.innerText.includes('Sold out') && " +
		"r.innerText.includes('50'))")
	w.until("document.querySelector('.actions > .primary').dataset.act === 'restock'")
	w.sees(".marks", "+50")
	w.accessible()
	// Somebody who comes after the rush sees all of it.
	late := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(phone().in("zh-CN").inDark()))
	late.sees(".over-time [data-peak]", "峰值")
	late.sees(".marks", "+50")
	late.sees(".marks", "已售罄")
	late.click("[data-act=menu]")
	late.sees(".menu-list [data-act=copy]", "复制")
	late.accessible()
	late.picture("console-late-phone-dark-zh", true)
	late.keys(kb.Escape)
	late.until("!document.querySelector('.menu').open && document.activeElement.dataset.act === 'menu'")
	w.picture("console-sold-out-desktop", true)
	w.visit(s.url("/admin#/audit"))
	for _, action := range []string{"create", "pause", "resume", "stock"} {
		w.sees("tr[data-action="+action+"]", "Admin 1")
	}
	w.sees("tr[data-action=stock]", "refused")
	w.accessible()
	w.picture("console-audit-desktop", false)
}

// TestConsoleVariants uses the console in Chinese, in dark colours, on a phone, and with the keyboard only.
func TestConsoleVariants(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("五折优惠券", 40)
	s.offer("Tonight at eight", 5000, time.Now().Add(3*time.Hour), time.Now().Add(5*time.Hour), "not_started")
	live := s.url(fmt.Sprintf("/admin#/voucher/%d", voucher))

	zh := open(t, live, s.asAdmin(desktop().in("zh-CN").inDark()))
	phone := open(t, live, s.asAdmin(phone()))
	zh.sees(tile("stock"), "40")
	phone.sees(tile("stock"), "40")
	s.startCrowd(voucher, 100, 25)()
	zh.sees(tile("unpaid"), "25")
	zh.sees("[data-money]", "收入 ¥0 · 售价 ¥10，面值 ¥50 · 每人限购 1 张")
	zh.sees("[data-balance=balanced]", "发放 40 = 剩余 15 + 排队 0 + 已落库 25")
	zh.accessible()
	zh.picture("console-sale-desktop-dark-zh", true)

	phone.sees(tile("recorded"), "25")
	phone.accessible()
	phone.picture("console-sale-phone", true)

	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
	w.sees("tr[data-voucher] a", "五折优惠券")
	w.accessible()
	w.picture("console-vouchers-desktop", false)
	evaluate[bool](w, fmt.Sprintf("document.querySelector('tr[data-voucher=\"%d\"] a').focus(), true", voucher))
	w.keys(kb.Enter)
	w.sees("h1", "五折优惠券")
	evaluate[bool](w, "document.querySelector('[data-act=pause]').focus(), true")
	w.keys(kb.Enter)
	w.sees("dialog", "nobody can buy")
	w.keys(kb.Escape)
	w.seesNo("dialog")

	// Names that every JavaScript object has.
	for _, odd := range []string{"constructor", "__proto__", "toString/7", "voucher/__proto__"} {
		w.visit(s.url("/admin#/orders"))
		w.sees("nav.places a[aria-current=page]", "Orders")
		w.visit(s.url("/admin#/" + odd))
		w.sees("h1", "Page not found")
		w.sees(".note", "#/"+odd)
	}
	w.visit(s.url("/admin#/orders"))
	w.sees("tbody tr", "Unpaid")
	w.accessible()
	w.click("tbody tr .link")
	w.sees("dialog .history", "Queued")
	w.accessible()
	w.picture("console-order-desktop", false)
	w.visit(s.url("/admin#/deadletters"))
	w.sees(".note", "No dead letters")
	w.accessible()
}

// TestConsoleQuantity checks that lists of orders and an order's page show the number of units if it is more than one.
func TestConsoleQuantity(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.offerSeveral("Concert", 5, 3)
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?quantity=3&wait=10s", voucher), 7, nil, nil)
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), 8, nil, nil)
	w := open(t, s.url("/admin#/orders"), s.asAdmin(desktop()))
	w.until("document.querySelectorAll('tbody tr').length === 2")
	w.until("[...document.querySelectorAll('tbody tr')].filter(r => r.innerText.includes('3 × Concert')).length === 1")
	w.until(fmt.Sprintf("document.querySelectorAll('tbody a[title=\"#%d\"]').length === 2", voucher))
	w.until("[...document.querySelectorAll('tbody time')].every(t => /^(today|yesterday), /.test(t.innerText) && " +
		"t.title.includes(t.innerText.split(', ')[1]))")
	w.until("[...document.querySelectorAll('tbody tr')].filter(r => r.innerText.includes('×')).length === 1")
	w.accessible()
	w.picture("console-orders-several-desktop", false)
	evaluate[bool](w, "[...document.querySelectorAll('tbody tr')].find(r => "+
		"r.innerText.includes('×')).querySelector('.link').click(), true")
	w.sees("dialog", "3 × Concert · Shop 1 · ¥30")
	w.accessible()
	w.picture("console-order-several-desktop", false)
	w.visit(s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)))
	w.sees("[data-balance=balanced]", "5 issued = 1 left + 0 waiting + 4 recorded")
	w.acts("copy")
	w.until("document.querySelector('#f-perUser').value === '3'")
	w.picture("console-form-several-desktop", false)
}

// TestConsoleDeadLetters checks that an unreadable entry is listed, and disappears when it is discarded with a reason.
func TestConsoleDeadLetters(t *testing.T) {
	t.Parallel()
	redis, prefix := testkit.Redis(t)
	s := realShop(t, "SECKILL_REDIS_PREFIX", prefix)
	poison := map[string]string{"v": "1", "u": "forty-two", "o": "?"}
	if err := redis.XAdd(t.Context(),
		&goredis.XAddArgs{Stream: prefix + "{p0}:orders", Values: poison}).Err(); err != nil {
		t.Fatal(err)
	}
	w := open(t, s.url("/admin#/deadletters"), s.asAdmin(desktop()))
	for evaluate[bool](w, "document.querySelector('[data-letter]') === null") {
		w.click(".head .button") // reloads until the recorder has moved the entry
	}
	w.sees("[data-letter]", "u=forty-two")
	w.sees("[data-letter]", "Unreadable")
	w.seesNo("[data-act=replay]")
	w.click("[data-act=discard]")
	w.sees("dialog", "Only the letter is removed")
	w.click("[data-act=yes]")
	w.sees("#f-why-wrong", "1 to 200 characters")
	w.accessible()
	w.enter("#f-why", "a test wrote it")
	w.picture("console-dead-letter-desktop", false)
	w.click("[data-act=yes]")
	w.sees(".note", "No dead letters")
	w.visit(s.url("/admin#/audit"))
	w.sees("tr[data-action=discard]", "a test wrote it")
}

// TestConsoleCopy checks that a copy of a sale has its values and a future window. While hidden, it is in no list for
// buyers.
func TestConsoleCopy(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Noodles for ten", 40)
	w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(desktop()))
	w.acts("copy")
	w.sees("dialog", "New voucher")
	w.until("document.querySelector('#f-title').value === 'Noodles for ten' && " +
		"document.querySelector('#f-stock').value === '40'")
	w.until("new Date(document.querySelector('#f-beginTime').value + 'T' + " +
		"document.getElementsByName('beginTime.clock')[0].value) > Date.now()")
	w.until("document.querySelector('[name=redeemable]').checked") // by default, and as the sale that is copied
	w.until("document.querySelector('[data-guard=limits]') !== null")
	w.seesNo("[data-guard=tickets]") // which the service could not sign
	w.click("[name=redeemable]")
	w.sees("dialog", "Paid orders have no code")
	w.click("[name=redeemable]")
	w.sees("#f-validUntil", "")
	begin := w.inHours(3)
	for name, at := range map[string]string{
		"beginTime": begin, "visibleFrom": w.inHours(5), "validUntil": w.inHours(48),
	} {
		w.setsTime(name, at)
	}
	w.setsTime("endTime", w.inHours(4))
	w.click("[data-act=save]")
	w.sees("#f-visibleFrom-wrong", "is after “Begins”")
	w.sees("#f-visibleFrom-wrong", "(a time not after "+
		evaluate[string](w, "new Date("+quoted(begin)+").toLocaleString('en-GB', "+
			"{dateStyle: 'medium', timeStyle: 'long'})")+")")
	w.accessible()
	w.picture("console-copy-desktop", false)
	w.setsTime("visibleFrom", w.inHours(2))
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.sees(".head", "hidden until")
	w.sees(".actions > a[href^='#/before/']", "") // the list of checks
	w.accessible()
	w.picture("console-not-started-desktop", false)
	copied := evaluate[int64](w, "Number(location.hash.split('/')[2])")
	if status, _ := s.ask(http.MethodGet, fmt.Sprintf("/voucher/%d", copied), 42, nil); copied == voucher ||
		status != http.StatusNotFound {
		t.Errorf("a buyer who asks for the hidden copy %d: %d", copied, status)
	}
	if status, _ := s.ask(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d", copied), 42,
		nil); status != http.StatusNotFound {
		t.Errorf("a buyer who wants to buy it: %d", status)
	}
	w.acts("edit")
	w.setsTime("visibleFrom", "")
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.until("!document.querySelector('.head').innerText.includes('hidden until')")
	if status, _ := s.ask(http.MethodGet, fmt.Sprintf("/voucher/%d", copied), 42, nil); status != http.StatusOK {
		t.Errorf("a buyer who asks for it once it is visible: %d", status)
	}
}

// chooseTemplate returns a script that chooses the nth template in the form of a voucher, 0 for none.
func chooseTemplate(n int) string {
	return fmt.Sprintf(`(() => {
  const from = document.querySelector('#f-from');
  from.value = from.options[%d].value;
  return from.dispatchEvent(new Event('change', { bubbles: true })); })()`, n)
}

// TestConsoleTemplates saves a new voucher as a template and starts another one from it, with a future window; another
// choice asks before what was typed is lost. An ordinary voucher gets a limit. The template is deleted in the form,
// which says so and keeps what is in it.
func TestConsoleTemplates(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Noodles for ten", 40)
	w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", voucher)), s.asAdmin(desktop()))
	w.acts("copy")
	w.until("document.querySelector('#f-title').value === 'Noodles for ten'")
	w.unfold()
	w.enter("#f-template", "Friday evening")
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.until(fmt.Sprintf("location.hash !== '#/voucher/%d'", voucher))
	w.visit(s.url("/admin#/vouchers"))
	w.click("[data-act=create]")
	w.sees("#f-from", "Friday evening")
	w.accessible()
	evaluate[bool](w, chooseTemplate(1))
	w.until("document.querySelector('#f-title').value === 'Noodles for ten' && " +
		"document.querySelector('#f-stock').value === '40'")
	w.until("new Date(document.querySelector('#f-beginTime').value + 'T' + " +
		"document.getElementsByName('beginTime.clock')[0].value) > Date.now()")
	w.replaces("#f-title", "Noodles for six")
	evaluate[bool](w, chooseTemplate(0))
	w.sees("dialog", "Discard what you typed?")
	w.accessible()
	w.keys(kb.Escape)
	w.until("document.querySelectorAll('dialog').length === 1")
	w.until("document.querySelector('#f-from').selectedIndex === 1 && " +
		"document.querySelector('#f-title').value === 'Noodles for six'")
	evaluate[bool](w, chooseTemplate(0))
	w.press("dialog [data-act=yes]")
	w.until("document.querySelectorAll('dialog').length === 1 && document.querySelector('#f-title').value === ''")
	evaluate[bool](w, chooseTemplate(1))
	w.until("document.querySelector('#f-title').value === 'Noodles for ten'")
	w.click("[data-act=delete-template]")
	w.sees("dialog + dialog #template-title", "Delete the template “Friday evening”?")
	w.accessible()
	w.picture("console-template-delete-desktop", false)
	w.click("dialog + dialog [data-act=yes]")
	w.seesNo("dialog + dialog")
	w.seesNo("#f-from")
	w.sees("dialog [data-said]", "The template “Friday evening” is deleted.")
	w.accessible()
	w.picture("console-template-deleted-desktop", false)
	w.until("document.querySelector('#f-title').value === 'Noodles for ten'")
	var templates []any
	if s.must(http.MethodGet, "/admin/template", admin, nil, &templates); len(templates) != 0 {
		t.Errorf("after deleting the one template there are %v", templates)
	}
	w.click(".kinds label:nth-of-type(2) input")
	w.until("document.querySelector('#f-stock') === null && document.querySelector('#f-perUser').value === ''")
	w.enter("#f-perUser", "21")
	w.click("[data-act=save]")
	w.sees("#f-perUser-wrong", "a whole number from 0 to 20")
	evaluate[bool](w, "document.querySelector('#f-perUser').value = '2', true")
	w.click("[data-act=save]")
	w.seesNo("dialog")
	w.sees(".head", "up to 2 per buyer")
}

// TestConsoleReport checks that the report after a sale shows what was requested, refused and sold, and can be saved as
// files, and that the list of all sales leads to it: in both languages, on a phone, and on paper.
func TestConsoleReport(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Noodles for ten", 40)
	s.startBuyers(voucher, 100, 100)()
	w := open(t, s.url("/admin#/sales"), s.asAdmin(desktop()))
	w.sees("[data-tile=running]", "0 paid, 40 unpaid, of 40 units")
	w.sees(fmt.Sprintf("[data-sale='%d'] .tag", voucher), "Sold out")
	w.accessible()
	w.picture("console-sales-desktop", false)
	w.click(fmt.Sprintf("[data-sale='%d'] a", voucher))
	w.click(".actions > [data-act=report]")
	w.sees("h1", "Report: Noodles for ten")
	for evaluate[bool](w, "(document.querySelector('[data-tile=asked] .tile-value') ?? {}).innerText !== '100'") {
		w.visit(s.url("/admin#/sales")) // until the instance has written its timeline
		w.sees("h1", "Sales")
		w.visit(s.url(fmt.Sprintf("/admin#/report/%d", voucher)))
		w.sees("[data-state=all]", "40")
	}
	w.sees(tile("accepted"), "40")
	w.sees("[data-tile=paid]", "40 unpaid, of 40 units")
	w.sees("[data-state=unpaid]", "40")
	w.sees("[data-tile=revenue]", "of paid orders")
	w.sees(".plain", "Sold out")
	w.accessible()
	w.sees("[data-p99]", "p99: ")
	w.picture("console-report-desktop", true)
	for _, file := range []string{"report", "timeline", "orders"} {
		w.click("[data-act=save-" + file + "]")
		w.until("document.querySelector('#announcer').textContent === 'Saved.'")
	}
	w.seesNo("[role=alert]:not([hidden])")

	zh := open(t, s.url(fmt.Sprintf("/admin#/report/%d", voucher)), s.asAdmin(phone().in("zh-CN").inDark()))
	zh.sees("h1", "报告：Noodles for ten")
	zh.sees("[data-tile=paid]", "待支付 40 份，共 40 份")
	zh.accessible()
	zh.picture("console-report-phone-zh-dark", true)
}

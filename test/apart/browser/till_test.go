package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// coupon creates a redeemable sale, and user 42's free order of two of its units, which is paid immediately. It returns
// the order's id and code.
func (s *shop) coupon(title string) (id, code string) {
	s.tb.Helper()
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/voucher/seckill", admin, map[string]any{
		"shopId": 1, "title": title, "payValue": 0, "actualValue": 5800, "stock": 5, "perUser": 2, "redeemable": true,
		"validDays": 30, "beginTime": time.Now().Add(-time.Hour), "endTime": time.Now().Add(26 * time.Hour),
	}, &made)
	s.awaitState(made.ID, "on_sale")
	var bought struct{ OrderID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?quantity=2&wait=10s", made.ID), 42, nil, &bought)
	return bought.OrderID, s.code(bought.OrderID, 42)
}

// asTill returns the device with till 7001 of shop 1 signed in.
func (s *shop) asTill(d device) device {
	s.tb.Helper()
	claims := box.Claims(7001, "till")
	claims["shop"] = 1
	d.script += fmt.Sprintf("if (location.host) localStorage.setItem('seckill.till', %s);",
		quoted(box.Sign(box.Secret, claims)))
	return d
}

// TestOrderWithoutACode checks that the owner of a paid order without a code reads what happens next.
func TestOrderWithoutACode(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/voucher", admin, map[string]any{
		"shopId": 1, "title": "Noodles by mail", "payValue": 0, "actualValue": 5800, "redeemable": false,
	}, &made)
	var bought struct{ OrderID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/buy/%d", made.ID), 42, nil, &bought)
	for language, words := range map[string]string{"en-GB": "The shop gives you what you bought", "zh-CN": "由店铺向您提供"} {
		buyer := open(t, s.url("/"), s.signedIn(phone().in(language), 42))
		buyer.sees("#order-"+bought.OrderID+" [data-uncoded]", words)
		buyer.seesNo("#order-" + bought.OrderID + " [data-act=code]")
		buyer.accessible()
	}
}

// TestTill has a buyer show a code, and a till enter, check and redeem it; the buyer's page then says so.
func TestTill(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	id, code := s.coupon("Noodles for two")
	buyer := open(t, s.url("/"), s.signedIn(phone(), 42))
	buyer.click("#order-" + id + " [data-act=code]")
	buyer.sees(".coupon-code", code)
	buyer.until("document.querySelector('.qr').naturalWidth > 0")
	buyer.accessible()
	buyer.picture("buyer-code-phone", false)

	till := open(t, s.url("/till"), s.asTill(phone().in("en-GB")))
	till.enter("#code", code)
	till.click("[data-act=check]")
	till.sees(".says", "Valid")
	till.sees(".what", "2 × Noodles for two")
	till.accessible()
	till.picture("till-valid-phone", false)
	till.click("[data-act=redeem]")
	till.sees(".result.good .says", "Redeemed")
	till.accessible()
	till.picture("till-redeemed-phone", false)
	buyer.sees(".coupon-used", "Redeemed")
	till.click("[data-act=next]")
	till.enter("#code", strings.Map(func(r rune) rune { // as a Chinese keyboard writes it
		const fullWidth = '０' - '0'
		return r + fullWidth
	}, strings.ToLower(code)))
	till.click("[data-act=check]")
	till.sees(".result.bad .says", "Already redeemed")
	till.sees(".result .facts", code)
	till.sees(".result", "By this till")
	till.accessible()
	till.picture("till-refused-phone", false)
}

// TestTillInChinese uses the till's page on a large screen, with an invalid code, and signs in and out.
func TestTillInChinese(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	_, code := s.coupon("双人牛肉面")
	till := open(t, s.url("/till"), desktop().in("zh-CN").inDark())
	till.sees("h1", "核销设备登录")
	till.accessible()
	till.enter("#token", s.token(42)) // a buyer's token
	till.click("form button")
	till.sees("[role=alert]", "该令牌不是核销令牌")
	till.picture("till-sign-in-desktop-zh-dark", false)

	till = open(t, s.url("/till"), s.asTill(desktop().in("zh-CN").inDark()))
	till.enter("#code", "0000 0000 0000 0000")
	till.click("[data-act=check]")
	till.sees(".result.bad .says", "本店无此券")
	till.accessible()
	till.click("[data-act=next]")
	till.enter("#code", code)
	till.click("[data-act=check]")
	till.sees(".says", "可核销")
	till.click("[data-act=redeem]")
	till.sees(".says", "核销成功")
	till.accessible()
	till.picture("till-redeemed-desktop-zh-dark", false)
	till.press("[data-act=account]")
	till.sees("h1", "核销设备登录")
}

// TestTillWithLostAnswers loses the answer to a redeem; the page retries with the same key, and says that the coupon is
// redeemed.
func TestTillWithLostAnswers(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	_, code := s.coupon("Noodles for two")
	p := testkit.NewProxy(t, s.server.Addr)
	till := open(t, s.through(p)+"till", s.asTill(phone()))
	till.enter("#code", code)
	till.click("[data-act=check]")
	till.sees(".says", "Valid")
	p.DropRepliesTo("POST /till/redeem", 1)
	till.click("[data-act=redeem]")
	till.sees(".result.good .says", "Redeemed")
	if p.Lost() == 0 {
		t.Error("no answer was lost: nothing was tested")
	}
}

// TestTillChecksTheNewestCode checks that what a till shows is about the code that was typed or scanned last, even if
// the answer about another one comes later.
func TestTillChecksTheNewestCode(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	d := s.asTill(phone())
	d.script += `
window.checks = [];
const answered = (data, done) => ({ ok: true, status: 200, headers: new Headers(),
  json: async () => (setTimeout(done, 0, true), { success: true, data }) });
window.fetch = ((ask) => (path, options) => path !== '/till/validate' ? ask(path, options) : new Promise((answer) =>
  checks.push((title) => new Promise((done) => answer(answered({ title, actualValue: 100 }, done))))))(window.fetch);
window.BarcodeDetector = class { detect = async () => [{ rawValue: 'SCANNED' }]; };
HTMLMediaElement.prototype.play = async () => {};
if (location.host) navigator.mediaDevices.getUserMedia = async () => new MediaStream();`
	till := open(t, s.url("/till"), d)
	asked := func(n int) {
		t.Helper()
		till.until(fmt.Sprintf("checks.length === %d", n))
	}
	answer := func(n int, title string) {
		t.Helper()
		evaluate[bool](till, fmt.Sprintf("checks[%d](%s)", n, quoted(title)))
	}
	till.enter("#code", "A")
	till.keys("\r")
	asked(1)
	till.enter("#code", "B")
	answer(0, "First") // what is typed was not checked yet
	till.seesNo(".result")
	till.keys("\r")
	asked(2)
	till.enter("#code", "C")
	till.keys("\r")
	asked(3)
	till.click("[data-act=scan]")
	asked(4)
	answer(3, "Fourth")
	till.sees(".what", "Fourth")
	till.sees(".facts", "SCAN-NED")
	answer(1, "Second")
	answer(2, "Third")
	till.sees(".what", "Fourth")
}

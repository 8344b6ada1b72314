package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"seckill/internal/testkit"
)

// button returns the selector of a voucher card's button in a state.
func button(state string) string { return fmt.Sprintf("button[data-state=%s]", state) }

// TestBuying: a visitor signs in, buys, pays, and returns the order.
func TestBuying(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name string
		open func(testing.TB) *shop
	}{{"embedded", embeddedShop}, {"real", func(tb testing.TB) *shop { return realShop(tb) }}} {
		for _, d := range []device{phone(), desktop()} {
			t.Run(kind.name+" "+d.name, func(t *testing.T) {
				s := kind.open(t)
				embedded := kind.name == "embedded"
				if !embedded {
					s.onSale("50 for 10", 3)
				}
				w := open(t, s.url("/"), d)
				w.sees(button("grab"), "Grab it for ¥10")
				w.sees("h1", "Flash sale")
				w.accessible()
				if embedded {
					w.picture("buyer-"+d.name, false)
				}
				w.click(button("grab"))
				w.sees("dialog", "Sign in to buy")
				w.accessible()
				if embedded {
					w.picture("buyer-sign-in-"+d.name, false)
					w.click("[data-act=demo]")
				} else {
					w.seesNo("[data-act=demo]")
					w.enter("#token", s.token(42))
					w.click("dialog form button")
				}
				// A visitor who clicks and then has to sign in need not click again.
				w.sees(button("unpaid"), "Pay ¥10")
				w.seesNo("dialog")
				w.sees(".order .tag", "To be paid")
				w.accessible()
				if embedded {
					w.picture("buyer-unpaid-"+d.name, true)
				}
				if got := w.purchases(); got != 1 {
					t.Errorf("%d orders were sent, want 1", got)
				}
				w.click(button("unpaid"))
				w.sees(".what", map[bool]string{true: "100 for 10", false: "50 for 10"}[embedded])
				w.accessible()
				w.click("form[method=post] button")
				w.sees(".paid", "The shop has been told")
				w.accessible()
				w.click("a.back")
				w.sees(button("yours"), "You got it")
				w.sees(".order .tag", "Paid")
				w.click(".order details summary")
				w.sees(".order .history li:last-child", "Paid")
				w.accessible()
				if embedded {
					w.picture("buyer-paid-"+d.name, true)
				}
				w.click(".order [data-act=refund]")
				w.sees("dialog", "You get ¥10 back")
				w.accessible()
				w.click("dialog .button.danger")
				w.sees(".order .tag", "Refunded")
				w.sees(button("grab"), "Grab it")
				w.press("[data-act=account]")
				w.sees("[data-act=account]", "Sign in")
				w.seesNo(".orders")
			})
		}
	}
}

// TestSoldOut has another user buy the last unit while the page is open. The page shows that after a click, and offers
// the voucher again once the unit comes back.
func TestSoldOut(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("50 for 10", 1)
	w := open(t, s.url("/"), s.signedIn(phone(), 42))
	w.sees(button("grab"), "")
	var bought struct{ OrderID string }
	s.must("POST", fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), 7, nil, &bought)
	w.click(button("grab"))
	w.sees(button("sold_out"), "Sold out")
	w.accessible()
	w.picture("buyer-sold-out-phone", false)
	s.must("POST", "/order/"+bought.OrderID+"/cancel", 7, nil, nil)
	w.sees(button("grab"), "Grab it")
	if got := s.orders(42); len(got) != 0 {
		t.Errorf("the buyer has %v", got)
	}
}

// TestSeveralUnits buys several units: the buyer chooses how many, up to the sale's limit. If fewer are left, nothing
// is bought, and the page proposes the rest. The order is paid, shown and given back as a whole.
func TestSeveralUnits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		device                                   device
		grab, few, fewer, pay, order, whole, yes string
	}{
		{
			desktop(), "Grab 3 for ¥30", "Only 2 left", "Grab 2 for ¥20", "Pay ¥20", "2 × Concert",
			"All 2 coupons", "Cancelled",
		},
		{
			phone().in("zh-CN").inDark(), "¥30 立即抢购 3 张", "仅剩 2 张", "¥20 立即抢购 2 张", "支付 ¥20",
			"2 × Concert", "2 张优惠券将全部", "已取消",
		},
	} {
		t.Run(tt.device.name, func(t *testing.T) {
			s := realShop(t)
			voucher := s.offerSeveral("Concert", 5, 3)
			w := open(t, s.url("/"), s.signedIn(tt.device, 42))
			w.sees(".stepper output", "1")
			w.until("document.querySelector('[data-act=fewer]').ariaDisabled === 'true'")
			for range 4 { // three is the limit
				w.click("[data-act=more]")
			}
			w.sees(".stepper output", "3")
			w.sees(button("grab"), tt.grab)
			w.until("document.querySelector('[data-act=more]').ariaDisabled === 'true'")
			w.accessible()
			w.picture("buyer-several-"+tt.device.name, false)

			s.must("POST", fmt.Sprintf("/voucher/seckill/%d?quantity=3&wait=10s", voucher), 7, nil, nil)
			w.click(button("grab"))
			w.sees(".card-note", tt.few)
			w.sees(".stepper output", "2")
			w.sees(button("grab"), tt.fewer)
			w.accessible()
			w.picture("buyer-few-"+tt.device.name, false)
			if got := s.orders(42); len(got) != 0 {
				t.Errorf("the buyer has %v", got)
			}

			w.click(button("grab"))
			w.sees(button("unpaid"), tt.pay)
			w.sees(".order h3", tt.order)
			w.sees(".order-facts", "¥20")
			w.seesNo(".stepper")
			w.accessible()
			w.picture("buyer-several-unpaid-"+tt.device.name, true)
			w.click(".order [data-act=cancel]")
			w.sees("dialog", tt.whole)
			w.click("dialog .button.danger")
			w.sees(".order .tag", tt.yes)
			w.sees(".stepper output", "1")
			w.until("document.querySelector('.stock-bar').ariaValueNow === '2'")
		})
	}
}

// TestOneClickOneOrder checks that any number of clicks sends one order.
func TestOneClickOneOrder(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("50 for 10", 5)
	p := testkit.NewProxy(t, s.server.Addr)
	w := open(t, s.through(p), s.signedIn(desktop(), 42))
	w.sees(button("grab"), "")
	p.Delay(time.Second) // leaves time for clicks and the picture
	evaluate[bool](w, `(() => { const b = document.querySelector('button[data-state=grab]'); for (let i = 0; i < 20; `+
		`i++) b.click(); return true; })()`)
	w.sees(button("asking"), "Placing your order")
	w.picture("buyer-asking-desktop", false)
	w.click(".card-act button")
	w.sees(button("unpaid"), "Pay")
	if got := w.purchases(); got != 1 {
		t.Errorf("%d orders were sent, want 1", got)
	}
	if got, want := fmt.Sprint(s.orders(42)), fmt.Sprintf("[%d unpaid]", voucher); got != want {
		t.Errorf("the buyer has %s, want %s", got, want)
	}
}

// TestLostAnswer loses the answers to a purchase. The page retries by itself and finds the same order. If it cannot, it
// reads the buyer's orders. If that fails as well, it shows that the outcome is unknown, and finds the order after a
// click.
func TestLostAnswer(t *testing.T) {
	t.Parallel() // it mostly waits
	s := realShop(t)
	voucher := s.onSale("50 for 10", 5)
	p := testkit.NewProxy(t, s.server.Addr)
	const purchase = "POST /voucher/seckill/"

	w := open(t, s.through(p), s.signedIn(phone(), 42))
	w.sees(button("grab"), "")
	p.DropRepliesTo(purchase, 1000) // many, because the browser also retries by itself
	w.click(button("grab"))
	w.sees(".card-note", "The answer was lost")
	w.accessible()
	w.picture("buyer-again-phone", false)
	p.Heal()
	w.sees(button("unpaid"), "Pay")
	if p.Lost() == 0 || w.purchases() < 2 {
		t.Errorf("%d answers were lost and %d requests sent: nothing was tested", p.Lost(), w.purchases())
	}

	other := open(t, s.through(p), s.signedIn(phone().in("zh-CN"), 43))
	other.sees(button("grab"), "")
	p.DropRepliesTo(purchase, 1000)
	p.Refuse("GET /order") // which would tell the outcome
	other.click(button("grab"))
	other.sees(button("unknown"), "查询结果")
	other.accessible()
	other.picture("buyer-unknown-phone-zh", false)
	p.Heal()
	other.click(button("unknown"))
	other.sees(button("unpaid"), "支付")
	for _, user := range []int64{42, 43} {
		if got, want := fmt.Sprint(s.orders(user)), fmt.Sprintf("[%d unpaid]", voucher); got != want {
			t.Errorf("user %d has %s, want %s", user, got, want)
		}
	}
}

// TestBusy checks that the page retries a purchase above the user's rate by itself, as soon as it may.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_USER_RATE", "1", "SECKILL_USER_BURST", "1")
	voucher := s.onSale("50 for 10", 5)
	w := open(t, s.url("/"), s.signedIn(phone(), 42))
	w.sees(button("grab"), "")
	// These requests use up the user's rate for a second, even if a busy machine takes longer than that to send them.
	evaluate[bool](w, `(() => {
  const ask = () => fetch('/order', {headers: {Authorization: localStorage.getItem('seckill.token')}});
  return ask().then(() => {
    for (let i = 0; i < 4; i++) ask();
    document.querySelector('button[data-state=grab]').click();
    return true;
  });
})()`)
	w.sees(".card-note", "It is very busy")
	w.sees(button("unpaid"), "Pay")
	if got := w.purchases(); got < 2 {
		t.Errorf("%d requests were sent: nothing was tested", got)
	}
	var has []struct{ VoucherID int64 }
	s.must("GET", "/admin/order?userId=42", admin, nil, &has)
	if len(has) != 1 || has[0].VoucherID != voucher {
		t.Errorf("the buyer has %v, want one of %d", has, voucher)
	}
}

// TestLanguages checks that the page uses the browser's language until the user chooses one.
func TestLanguages(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/"), desktop().in("zh-CN").inDark())
	w.sees(button("grab"), "立即抢购")
	w.until("document.documentElement.lang === 'zh-CN' && document.title === '限时抢购 · 秒杀'")
	w.accessible()
	w.picture("buyer-desktop-zh-dark", false)
	w.click(button("grab"))
	w.sees("dialog", "登录后抢购")
	w.accessible()
	w.click("[data-act=demo]")
	w.sees(".order .tag", "待支付")
	w.accessible()
	w.picture("buyer-unpaid-desktop-zh-dark", true)
	w.choose("select[aria-label=语言]", "en")
	w.sees(".order .tag", "To be paid")
	w.visit(s.url("/"))
	w.sees(button("unpaid"), "Pay ¥10")
	w.until("document.documentElement.lang === 'en-GB'")
	w.click(button("unpaid"))
	w.sees("h1", "Sandbox payment")
}

// TestKeyboard: everything works without a mouse, and the focus moves as users expect.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/"), desktop())
	w.sees(button("grab"), "")
	w.keys(kb.Tab)
	w.until("document.activeElement.matches('.skip')")
	w.tabTo(button("grab"))
	w.picture("buyer-focus-desktop", false)
	w.keys(kb.Enter)
	w.sees("dialog", "Sign in to buy")
	w.until("document.activeElement.closest('dialog') !== null")
	w.keys(kb.Escape)
	w.seesNo("dialog")
	w.until("document.activeElement.matches('button[data-state=grab]')") // where the focus was before
	w.keys(kb.Enter)
	w.sees("dialog", "Sign in to buy")
	w.tabTo("[data-act=demo]")
	w.keys(kb.Enter)
	w.sees(button("unpaid"), "Pay")
	w.until("document.getElementById('announcer').textContent.includes('You got it') || " +
		"document.getElementById('announcer').textContent.includes('To be paid')")
	w.tabTo(".order [data-act=cancel]")
	w.keys(kb.Enter)
	w.sees("dialog", "Cancel this order?")
	w.accessible()
	w.tabTo("dialog .button.danger")
	w.keys(" ")
	w.sees(".order .tag", "Cancelled")
	w.sees(button("grab"), "Grab it")
}

// TestMoreVouchers checks that a shop with many vouchers shows its newest, and more on demand; those stay when the list
// is read again.
func TestMoreVouchers(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	for i := range 60 {
		s.onSale(fmt.Sprint("coupon ", i+1), 3)
	}
	for _, tt := range []struct {
		device device
		more   string
	}{{desktop(), "Show more"}, {phone().in("zh-CN"), "显示更多"}} {
		t.Run(tt.device.name, func(t *testing.T) {
			w := open(t, s.url("/"), tt.device)
			w.sees("[data-act=more]", tt.more)
			w.until("document.querySelectorAll('.card').length === 50")
			w.accessible()
			w.picture("more-"+tt.device.name, true)
			w.click("[data-act=more]")
			w.until("document.querySelectorAll('.card').length === 60")
			w.seesNo("[data-act=more]")
			w.visit(s.url("/"))
			w.until("document.querySelectorAll('.card').length === 50")
		})
	}
}

package browser

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/test/box"
)

// paid has a user buy in a sale and pay; the order is paid once it returns. Sales that cost nothing need no payment.
func (s *shop) paid(voucher, user int64) (order string) {
	s.tb.Helper()
	order = s.unpaid(voucher, user)
	s.pay(order, user)
	return order
}

// pay has a user pay an order; it is paid once pay returns.
func (s *shop) pay(order string, user int64) {
	s.tb.Helper()
	var payment struct{ PayURL string }
	s.must(http.MethodPost, "/order/"+order+"/pay", user, nil, &payment)
	_, path, _ := strings.Cut(payment.PayURL, "/sandbox/")
	path = "/sandbox/" + path
	if status, _ := s.ask(http.MethodPost, path, 0, nil); status >= http.StatusBadRequest {
		s.tb.Fatalf("paying at %s: %d", path, status)
	}
	s.awaitOrder(order, "paid")
}

// unpaid has a user buy in a sale, and returns the order.
func (s *shop) unpaid(voucher, user int64) (order string) {
	s.tb.Helper()
	var bought struct{ OrderID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), user, nil, &bought)
	return bought.OrderID
}

// awaitOrder waits until an order is in a state.
func (s *shop) awaitOrder(order, status string) {
	s.tb.Helper()
	box.Eventually(s.tb, fmt.Sprintf("order %s becoming %s", order, status), func() error {
		var o struct{ Status string }
		if s.must(http.MethodGet, "/admin/order/"+order, admin, nil, &o); o.Status != status {
			return fmt.Errorf("it is %s", o.Status)
		}
		return nil
	})
}

// redeem has a till redeem the coupon of an order.
func (s *shop) redeem(order string, user int64, d device) {
	s.tb.Helper()
	till := open(s.tb, s.url("/till"), s.asTill(d))
	till.enter("#code", s.code(order, user))
	till.click("[data-act=check]")
	till.click("[data-act=redeem]")
	till.sees(".result.good .says", "")
}

// lapse makes a paid order one whose coupon has lapsed, as the lapser would once its date has passed.
func (s *shop) lapse(order string) {
	s.tb.Helper()
	db, err := sql.Open("mysql", s.server.Settings["SECKILL_MYSQL_DSN"])
	if err != nil {
		s.tb.Fatal(err)
	}
	defer db.Close()
	ended := time.Now().UTC().Add(-time.Second)
	for query, args := range map[string][]any{
		"UPDATE tb_coupon SET valid_until = ?, due_time = NULL WHERE order_id = ?": {ended, order},
		"UPDATE tb_voucher_order SET status = ?, lapse_time = ? WHERE id = ?":      {8, ended, order},
	} {
		if _, err := db.ExecContext(s.tb.Context(), query, args...); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// redeemableSale creates an open sale whose coupons tills redeem.
func (s *shop) redeemableSale(title string, price int64) int64 {
	s.tb.Helper()
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/voucher/seckill", admin, map[string]any{
		"shopId": 1, "title": title, "payValue": price, "actualValue": 5000, "stock": 40, "redeemable": true,
		"validDays": 30, "beginTime": time.Now().Add(-time.Hour), "endTime": time.Now().Add(26 * time.Hour),
		"waitlistWindowSeconds": 600,
	}, &made)
	s.awaitState(made.ID, "on_sale")
	return made.ID
}

// TestConsoleCallOff has an admin call a sale off: the dialog says what will happen and asks for a reason and the
// voucher's number, the page shows how far that has got, staff end what is left to them, and the lists, the report and
// the buyer's page say so.
func TestConsoleCallOff(t *testing.T) {
	t.Parallel()
	small := phone().in("zh-CN").inDark()
	small.width = 360
	for _, tt := range []struct {
		device                                              device
		means, missing, wrong, tag, left, all, bought, note string
	}{
		{
			desktop(), "Their money goes back: ¥10 in all", "missing", "Please type", "Called off",
			"Orders for you to decide about: 2", "There is nothing left to do", "Your money has gone back",
			"This sale was called off",
		},
		{
			small, "将退款，共 ¥10", "必填", "请输入", "活动已取消", "另有 2 笔订单需由您处理", "无需再处理", "您的付款已退回", "撤回",
		},
	} {
		t.Run(tt.device.name, func(t *testing.T) {
			t.Parallel()
			s, d := realShop(t), tt.device
			v := s.redeemableSale("Noodles for two", 1000)
			redeemed, lapsed, paid := s.paid(v, 42), s.paid(v, 43), s.paid(v, 44)
			unpaid := s.unpaid(v, 45)
			s.redeem(redeemed, 42, phone())
			s.lapse(lapsed)
			buyer := open(t, s.url("/"), s.signedIn(d, 44))
			buyer.sees(button("yours"), "")

			w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", v)), s.asAdmin(d))
			w.sees(tile("stock"), "36")
			w.acts("calloff")
			w.sees("[data-means]", tt.means)
			w.sees("[data-means]", "36")
			w.click("[data-act=yes]")
			w.sees("#f-why-wrong", tt.missing)
			w.sees("#f-number-wrong", tt.wrong)
			w.accessible()
			w.picture("console-call-off-"+d.name, false)
			w.enter("#f-why", "the price was wrong")
			w.enter("#f-number", fmt.Sprint(v))
			w.click("[data-act=yes]")
			w.seesNo("dialog")
			w.sees(".head .tag", tt.tag)
			w.sees("[data-unwinding=unwound]", tt.left)
			s.awaitOrder(paid, "refunded")
			s.awaitOrder(unpaid, "cancelled")
			w.until("document.querySelector('.actions > .primary').dataset.act === 'report'")
			w.seesNo(".actions [data-act=calloff], .actions [data-act=restock], .actions [data-act=pause]")
			w.accessible()
			w.picture("console-called-off-"+d.name, true)

			buyer.sees(button("called_off"), "")
			buyer.sees(".card-note", tt.bought)
			buyer.seesNo("[data-act=code], [data-act=refund]")
			buyer.accessible()
			buyer.picture("buyer-called-off-"+d.name, false)

			for i, act := range []string{"extend", "unredeem"} {
				w.click("[data-act=left-" + act + "]")
				w.enter("#f-why", "they asked for it")
				w.accessible()
				w.picture(fmt.Sprintf("console-called-off-%s-%s", act, d.name), false)
				w.click("[data-act=yes]")
				w.seesNo("dialog")
				w.until(fmt.Sprintf("document.querySelectorAll('[data-left]').length === %d", 1-i))
			}
			s.awaitOrder(redeemed, "refunded")
			s.awaitOrder(lapsed, "refunded")
			w.sees("[data-unwinding=unwound]", tt.all)
			w.sees("[data-units=withdrawn]", "40")
			w.sees(".marks", tt.tag)

			w.visit(s.url("/admin#/sales"))
			w.sees(fmt.Sprintf("tr[data-sale='%d'] .tag", v), tt.tag)
			w.accessible()
			w.picture("console-called-off-sales-"+d.name, false)
			w.visit(s.url("/admin#/vouchers"))
			w.sees(fmt.Sprintf("tr[data-voucher='%d'] .tag", v), tt.tag)
			w.visit(s.url(fmt.Sprintf("/admin#/report/%d", v)))
			w.sees("[data-called-off]", tt.note)
			w.sees("[data-tile=paid]", "40")
			w.accessible()
			w.picture("console-called-off-report-"+d.name, true)
			w.visit(s.url("/admin#/audit"))
			w.sees("tr[data-action=call_off]", "the price was wrong")
			w.accessible()
		})
	}
}

// TestConsoleCallOffFree checks that a free order of a called-off sale is voided from the list.
func TestConsoleCallOffFree(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	v := s.redeemableSale("Noodles for nothing", 0)
	order := s.unpaid(v, 42)
	w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", v)), s.asAdmin(phone()))
	w.acts("calloff")
	w.sees("[data-means]", "No money has to go back so far")
	w.sees("[data-means]", "Orders that you decide about yourself: 1")
	w.enter("#f-why", "a mistake")
	w.enter("#f-number", fmt.Sprintf("#%d", v))
	w.click("[data-act=yes]")
	w.sees("[data-left=free]", order)
	w.accessible()
	w.picture("console-called-off-free-phone", true)
	w.click("[data-act=left-refund]")
	w.enter("#f-why", "they know")
	w.click("[data-act=yes]")
	w.seesNo("[data-left]")
	s.awaitOrder(order, "refunded")
	buyer := open(t, s.url("/"), s.signedIn(phone().in("zh-CN"), 42))
	buyer.sees(button("called_off"), "商家已取消活动")
	buyer.sees(".card-note", "未支付任何费用")
	buyer.accessible()
}

package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
	"seckill/test/box"
)

// paidWith buys a coupon with a price as a user, pays for it, and returns its order and payment.
func (s *shop) paidWith(voucher, user int64) (orderID, p string) {
	s.tb.Helper()
	var bought, begun struct{ OrderID, PaymentID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), user, nil, &bought)
	s.must(http.MethodPost, "/order/"+bought.OrderID+"/pay", user, nil, &begun)
	s.server.Tells(s.tb, box.Secret, payment.Notice{PaymentID: begun.PaymentID, Amount: 1000})
	return bought.OrderID, begun.PaymentID
}

// TestConsolePayments finds payments of which a part has gone back and which are disputed, from the start page on, and
// in their order; and saves them as a file.
func TestConsolePayments(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Noodles for two", 9)
	_, whole := s.paidWith(voucher, 41)
	_, part := s.paidWith(voucher, 42)
	disputed, about := s.paidWith(voucher, 43)
	_, lost := s.paidWith(voucher, 44)
	for _, n := range []payment.Notice{
		{Kind: payment.NoticeReturned, PaymentID: part, Amount: 250},
		{Kind: payment.NoticeDisputed, PaymentID: about, Amount: 1000},
		{Kind: payment.NoticeDisputeLost, PaymentID: lost, Amount: 400},
	} {
		s.server.Tells(t, box.Secret, n)
	}
	for _, d := range []device{desktop(), phone().in("zh-CN").inDark()} {
		disputedSays := map[string]string{"": "disputed", "zh-CN": "争议中"}[d.language]
		w := open(t, s.url("/admin"), s.asAdmin(d))
		w.click("[data-hand=disputes] a")
		w.sees(fmt.Sprintf("[data-payment=%s]", about), disputedSays)
		w.seesNo(fmt.Sprintf("[data-payment=%s]", whole))
		w.visit(s.url("/admin#/payments"))
		w.sees(fmt.Sprintf("[data-payment=%s]", part), "7.50")
		w.sees(fmt.Sprintf("[data-payment=%s] [data-dispute=lost]", lost), "4")
		w.accessible()
		w.picture("console-payments-"+d.name+d.language, false)
		w.enter("#q-payment", part)
		w.click("[role=search] button")
		w.seesNo(fmt.Sprintf("[data-payment=%s]", whole))
		w.sees(fmt.Sprintf("[data-payment=%s]", part), "2.50")
		w.visit(s.url("/admin#/payments?to=" + time.Now().AddDate(0, 0, -2).Format(time.DateOnly)))
		w.sees("main .note:not([hidden])", map[string]string{"": "No payments", "zh-CN": "没有"}[d.language])
		w.visit(s.url("/admin#/payments?from=" + time.Now().AddDate(0, 0, -2).Format(time.DateOnly)))
		w.click("[data-act=save-payments]")
		w.sees("#announcer", map[string]string{"": "Saved", "zh-CN": "已保存"}[d.language])
		w.visit(s.url("/admin#/orders?orderId=" + disputed))
		w.sees("dialog [data-dispute=open]", disputedSays)
		w.accessible()
		w.picture("console-order-disputed-"+d.name+d.language, false)
	}
}

// TestConsoleProviders finds a payment provider over HTTP that does not answer: why, since when, and how often.
func TestConsoleProviders(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_PAYMENT_PROVIDER", "auto", "SECKILL_PAYMENT_SECRET", "",
		"SECKILL_PAYMENT_PROVIDERS", "cards=http://127.0.0.1:1/",
		"SECKILL_PAYMENT_PROVIDER_SECRETS", "cards="+signature.NewSecret())
	voucher := s.onSale("Noodles for two", 9)
	var bought struct{ OrderID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), 41, nil, &bought)
	for range 3 {
		status, _ := s.ask(http.MethodPost, "/order/"+bought.OrderID+"/pay", 41, nil)
		if status != http.StatusServiceUnavailable {
			t.Fatalf("paying is answered %d", status)
		}
	}
	for _, d := range []device{desktop(), phone().in("zh-CN").inDark()} {
		w := open(t, s.url("/admin#/payments"), s.asAdmin(d))
		w.sees("[data-provider=cards]", map[string]string{"": "cannot be reached", "zh-CN": "无法连接"}[d.language])
		w.sees("[data-provider=cards]", "3")
		w.accessible()
		w.picture("console-providers-"+d.name+d.language, false)
	}
}

// TestConsoleStuckRefunds finds refunds that the provider refuses for good, from the start page on, has one asked for
// again, closes another in the list and a third in its order, and reads that in the audit trail.
func TestConsoleStuckRefunds(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.redeemableSale("Tea for two", 10_13) // the sandbox refunds no amount like that
	small := phone().in("zh-CN").inDark()
	small.width = 360
	user := int64(50)
	for _, tt := range []struct {
		device                                          device
		stuck, why, hand, missing, closed, waits, trail string
		asked, done, ofStuck, ofClosed                  string
	}{
		{
			desktop(), "refund stuck", "refuses for good", "refuses for good: 3", "missing", "refund closed",
			"does not go back by itself", "Stuck refund closed",
			"The provider is being asked.", "The refund is closed.", "stuck refunds: ¥", "closed refunds: ¥20.26",
		},
		{
			small, "退款受阻", "最终拒绝", "最终拒绝的退款：", "必填", "退款已关闭", "不会自动退回", "关闭退款",
			"正在请求渠道。", "退款已关闭。", "退款受阻：¥", "退款已关闭：¥",
		},
	} {
		d := tt.device
		var orders, payments []string
		for range 3 {
			user++
			id := s.paid(voucher, user)
			s.must(http.MethodPost, "/order/"+id+"/refund", user, nil, nil)
			var o struct {
				Payments []struct{ ID, State string }
			}
			box.Eventually(t, "the refund getting stuck", func() error {
				if s.must(http.MethodGet, "/admin/order/"+id, admin, nil, &o); o.Payments[0].State != "stuck" {
					return fmt.Errorf("it is %s", o.Payments[0].State)
				}
				return nil
			})
			orders, payments = append(orders, id), append(payments, o.Payments[0].ID)
		}
		w := open(t, s.url("/admin"), s.asAdmin(d))
		w.sees("[data-hand=stuck]", tt.hand)
		w.picture("console-start-stuck-"+d.name+d.language, false)
		w.until("(a => a.ariaLabel.startsWith(a.innerText) && a.ariaLabel.includes(" + quoted(tt.hand) + "))" +
			"(document.querySelector('[data-hand=stuck] a'))")
		w.click("[data-hand=stuck] a")
		at := func(i int) string { return fmt.Sprintf("[data-payment=%s]", payments[i]) }
		w.sees(at(0)+" .tag", tt.stuck)
		w.sees(at(0)+" [data-stuck]", tt.why)
		w.accessible()
		w.picture("console-payments-stuck-"+d.name+d.language, false)
		w.click(at(0) + " [data-act=stuck-retry]")
		w.click("dialog [data-act=yes]")
		w.sees("dialog", tt.missing)
		w.enter("dialog [name=why]", "they say that it works now")
		w.click("dialog [data-act=yes]")
		w.seesNo("dialog")
		w.sees("#notice .notice", tt.asked)
		w.click(at(1) + " [data-act=stuck-close]")
		w.accessible()
		w.picture("console-payment-close-"+d.name+d.language, false)
		w.enter("dialog [name=why]", "paid out in cash")
		w.click("dialog [data-act=yes]")
		w.seesNo("dialog")
		s.awaitOrder(orders[1], "refunded")
		w.visit(s.url("/admin#/payments?state=closed"))
		w.sees(at(1)+" .tag", tt.closed)
		w.visit(s.url("/admin#/orders?orderId=" + orders[2]))
		w.sees("dialog [data-stuck]", tt.why)
		w.sees("dialog .note", tt.waits)
		w.accessible()
		w.picture("console-order-stuck-"+d.name+d.language, false)
		w.click("dialog [data-act=stuck-close]")
		w.enter("dialog [name=why]", "written off")
		w.click("dialog [data-act=yes]")
		w.sees("dialog [data-said]", tt.done)
		w.seesNo("dialog [data-stuck]")
		w.accessible()
		w.picture("console-order-closed-"+d.name+d.language, false)
		s.awaitOrder(orders[2], "refunded")
		w.visit(s.url(fmt.Sprintf("/admin#/report/%d", voucher)))
		w.sees("[data-tile=revenue]", tt.ofClosed)
		w.sees("[data-tile=revenue]", tt.ofStuck)
		w.picture("console-report-stuck-"+d.name+d.language, false)
		w.visit(s.url("/admin#/audit"))
		w.sees("main table", tt.trail)
	}
}

// TestConsoleRefusedNotices shows on the start page and among the payments which notices of payment providers were
// refused: one that anybody may have sent, and one about money that nobody knows.
func TestConsoleRefusedNotices(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	status, _ := s.ask(http.MethodPost, "/payment/callback", 0, map[string]any{})
	if status != http.StatusUnauthorized {
		t.Fatalf("a notice without a signature: %d", status)
	}
	unknown := payment.Notice{PaymentID: "pay_of_another_shop", Amount: 12_34}
	if err := s.server.Says(t, box.Secret, unknown); err == nil {
		t.Fatal("a notice about an unknown payment is taken")
	}
	for _, d := range []device{desktop(), phone().in("zh-CN").inDark()} {
		says := map[string][2]string{
			"": {"money that nobody knows", "wrong signature"}, "zh-CN": {"款项无对应支付", "签名无效"},
		}[d.language]
		w := open(t, s.url("/admin"), s.asAdmin(d))
		w.sees("[data-hand='notice-sandbox-unknown_payment']", says[0])
		w.picture("console-start-notices-"+d.name+d.language, false)
		w.click("[data-hand='notice-sandbox-unknown_payment'] a")
		w.sees("[data-notice=unknown_payment]", says[0])
		w.sees("[data-notice=unknown_payment]", "pay_of_another_shop")
		w.sees("[data-notice=signature]", says[1])
		w.accessible()
		w.picture("console-notices-"+d.name+d.language, false)
	}
}

// TestMoneyUnderWay shows a buyer that the bank works on their payment, with nothing to press, and then that it has
// failed and can be tried again.
func TestMoneyUnderWay(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Tea for two", 9)
	for user, d := range map[int64]device{61: desktop(), 62: phone().in("zh-CN").inDark()} {
		var bought, begun struct{ OrderID, PaymentID string }
		s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), user, nil, &bought)
		s.must(http.MethodPost, "/order/"+bought.OrderID+"/pay", user, nil, &begun)
		tell := func(kind payment.NoticeKind) {
			s.server.Tells(t, box.Secret, payment.Notice{Kind: kind, PaymentID: begun.PaymentID, Amount: 1000})
		}
		tell(payment.NoticeProcessing)
		w := open(t, s.url("/"), s.signedIn(d, user))
		order := "#order-" + bought.OrderID
		words := map[string]string{"": "bank is still working", "zh-CN": "银行正在处理"}
		w.sees(order+" [data-processing]", words[d.language])
		w.seesNo(order + " [data-act=pay]")
		w.accessible()
		w.picture("buyer-processing-"+d.name+d.language, false)
		tell(payment.NoticeFailed)
		w.sees(order+" [data-act=pay]", "¥10") // without a reload
		w.seesNo(order + " [data-processing]")
		staff := open(t, s.url("/admin#/payments?payment="+begun.PaymentID), s.asAdmin(d))
		staff.sees("[data-progress=failed]", map[string]string{"": "failed", "zh-CN": "支付失败"}[d.language])
		staff.picture("console-payment-failed-"+d.name+d.language, false)
	}
}

// TestRefundsOfParts sends a part of a payment's money back. The buyer reads that it is on its way, that it is back,
// and that the bank refused it; staff find what was refused, and close it.
func TestRefundsOfParts(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Soup for two", 9)
	_, first := s.paidWith(voucher, 70)
	one := map[string]any{"amount": 1, "why": "the first"}
	s.must(http.MethodPost, "/admin/payment/"+first+"/refund", admin, one, nil)
	for user, d := range map[int64]device{71: desktop(), 72: phone().in("zh-CN").inDark()} {
		says := func(english, chinese string) string {
			return map[string]string{"": english, "zh-CN": chinese}[d.language]
		}
		id, p := s.paidWith(voucher, user)
		w := open(t, s.url("/admin#/payments?payment="+p), s.asAdmin(d))
		w.click("[data-act=refund-part]")
		w.enter("dialog [name=amount]", "20")
		w.enter("dialog [name=why]", "cold soup")
		w.click("dialog [data-act=yes]")
		w.sees("dialog", says("from ¥0.01 to ¥10", "¥0.01 至 ¥10"))
		w.accessible()
		w.picture("console-refund-part-"+d.name+d.language, false)
		w.replaces("dialog [name=amount]", "2.17") // the sandbox needs a hand for amounts like that
		w.click("dialog [data-act=yes]")
		w.seesNo("dialog")
		w.sees("#notice .notice", says("¥2.17 goes back", "¥2.17 即将退回"))
		refund := s.awaitRefund(p, "pending")
		order := "#order-" + id
		for i, text := range []string{
			says("¥2.17 is on its way", "¥2.17 正在退回途中"), says("¥2.17 is back", "¥2.17 已于"),
			says("Your bank refused ¥2.17", "银行拒绝了 ¥2.17"),
		} {
			state := payment.RefundPending + payment.RefundState(i)
			if state > payment.RefundPending {
				s.server.Tells(t, box.Secret, payment.Notice{
					Kind: payment.NoticeRefund, PaymentID: p, Amount: 2_17,
					Refund: payment.RefundNotice{ID: refund, State: state},
				})
			}
			buyer := open(t, s.url("/"), s.signedIn(d, user))
			buyer.sees(fmt.Sprintf("%s [data-refund=%s]", order, state), text)
			buyer.accessible()
			buyer.picture(fmt.Sprint("buyer-refund-", state, "-", d.name, d.language), false)
			buyer.click(order + " [data-act=refund]")
			buyer.sees("dialog", map[bool]string{true: "¥10", false: "¥7.83"}[state == payment.RefundFailed])
		}
		w.visit(s.url("/admin"))
		w.click("[data-hand=parts] a")
		w.sees(fmt.Sprintf("[data-payment=%s] [data-refund=failed]", p), says("refused", "被拒绝"))
		w.accessible()
		w.picture("console-refund-failed-"+d.name+d.language, false)
		w.click("[data-act=stuck-close]")
		w.sees("dialog", says("of ¥2.17", "¥2.17 的退款"))
		w.enter("dialog [name=why]", "paid in cash")
		w.picture("console-refund-close-"+d.name+d.language, false)
		w.click("dialog [data-act=yes]")
		w.seesNo("dialog")
		w.seesNo("[data-act=stuck-close]")
	}
}

// awaitRefund waits until the payment's first refund is in a state, and returns its id.
func (s *shop) awaitRefund(p, state string) string {
	s.tb.Helper()
	var of struct {
		Refunds []struct{ ID, State string }
	}
	box.Eventually(s.tb, "the refund being "+state, func() error {
		s.must(http.MethodGet, "/admin/payment/"+p, admin, nil, &of)
		if len(of.Refunds) == 0 || of.Refunds[0].State != state {
			return fmt.Errorf("it is %+v", of.Refunds)
		}
		return nil
	})
	return of.Refunds[0].ID
}

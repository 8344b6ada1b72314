package browser

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/test/box"
)

// paidWith buys a coupon with a price as a user, pays for it, and returns its order and payment.
func (s *shop) paidWith(voucher, user int64) (orderID, payment string) {
	s.tb.Helper()
	var bought, begun struct{ OrderID, PaymentID string }
	s.must(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), user, nil, &bought)
	s.must(http.MethodPost, "/order/"+bought.OrderID+"/pay", user, nil, &begun)
	s.server.Tells(s.tb, box.Secret, order.Notice{PaymentID: begun.PaymentID, Amount: 1000})
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
	for _, n := range []order.Notice{
		{Kind: order.NoticeReturned, PaymentID: part, Amount: 250},
		{Kind: order.NoticeDisputed, PaymentID: about, Amount: 1000},
		{Kind: order.NoticeDisputeLost, PaymentID: lost, Amount: 400},
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

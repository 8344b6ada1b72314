package webhook_test

import (
	"strings"
	"testing"
	"time"
)

// An order with hundreds of failed attempts expires, with all others that are due, and one with hundreds of partial
// refunds goes on.
func TestLongOrdersGoOn(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		v := l.sale(t, 20, 1000)
		l.endpoint(t, 1)
		cs := l.NewOrders(t, v, 3)
		l.Pays(t, cs[0])
		paid := l.Pays(t, cs[1])
		l.Receives(t, paid)
		rows := func(n int) string { return "SELECT 1 AS one" + strings.Repeat(" UNION ALL SELECT 1", n-1) }
		l.Exec(t, "INSERT INTO tb_payment (id, order_id, user_id, voucher_id, shop_id, amount, state, create_time, "+
			"provider, progress, progress_time, failure) SELECT CONCAT(p.id, '-', ROW_NUMBER() OVER ()), p.order_id, "+
			"p.user_id, p.voucher_id, p.shop_id, p.amount, p.state, p.create_time, p.provider, 2, p.create_time, "+
			"'the card was declined' FROM tb_payment p JOIN ("+rows(200)+") n WHERE p.order_id = ?", cs[0].OrderID)
		l.Due(t, -time.Minute, cs[0], cs[2])
		if got, err := l.ExpireDue(t.Context(), 1, 9); err != nil || len(got) != 2 {
			t.Errorf("expired: %v, %v", got, err)
		}
		l.Exec(t, "INSERT INTO tb_refund (id, payment_id, amount, state, origin, actor, create_time, done_time) "+
			"SELECT CONCAT(p.id, '-', ROW_NUMBER() OVER ()), p.id, 1, 3, 2, 'admin 7', p.create_time, p.create_time "+
			"FROM tb_payment p JOIN ("+rows(400)+") n WHERE p.id = ?", paid.ID)
		l.Exec(t, "UPDATE tb_payment SET returned = 400 WHERE id = ?", paid.ID)
		if _, _, err := l.RefundPart(t.Context(), byStaff(paid.ID, "part"), 1); err != nil {
			t.Errorf("another part: %v", err)
		}
		if _, err := l.AskRefund(t.Context(), cs[1].UserID, cs[1].OrderID); err != nil {
			t.Errorf("all that is left: %v", err)
		}
		longest := l.Number(t, "SELECT MAX(LENGTH(body)) FROM tb_webhook_event")
		if longest > 60_000 || longest < 3_000 {
			t.Errorf("the longest body has %d bytes", longest)
		}
	})
}
